"""`GET /api/reminder/alarms`: lists a user's alarms from the read model, soonest first, page by page."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web

from drover.domain.identity.audit import AccessKind
from drover.domain.reminder import REMINDER
from drover.postgres.errors import POSTGRES_AWAY
from drover.readmodel.form import placed
from drover.reminder.edge.alarms import RegisteredAlarm
from drover.reminder.edge.callers import for_alarms, whose
from drover.reminder.faults import report
from drover.web.alarm_texts import AlarmTexts
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.errors import invalid, unavailable
from drover.web.freshness import Freshness
from drover.web.permissions import Verb
from drover.web.query import read_number, refuse_unknown
from drover.web.route import BEHIND, MIN_POSITION, Answer, Parameter, Route, handles

ROWS_DEFAULT: Final = 50
ROWS_MAX: Final = 500
READ_S: Final = 5.0
CURSOR_CHARS_MAX: Final = 512
_PARAMETERS: Final = ("user_id", "limit", "after")

_ALARMS: Final = """
SELECT page_id, user_id, title, body, next_alarm_time, sent_count, last_notification_id, processed_at, retry_at,
       attempt, last_error, created_at, updated_at
FROM rm_reminder.alarm
WHERE ($1::text IS NULL OR user_id = $1)
  AND ($2::timestamptz IS NULL OR (next_alarm_time, page_id) > ($2, $3))
ORDER BY next_alarm_time, page_id
LIMIT $4
"""


class _Cursor(msgspec.Struct, array_like=True):
    next_alarm_time: datetime
    page_id: str


class OwnAlarm(RegisteredAlarm):
    last_notification_id: str | None
    processed_at: datetime | None
    retry_at: datetime | None
    attempt: int
    last_error: str | None
    created_at: datetime
    updated_at: datetime


class OwnAlarms(msgspec.Struct):
    alarms: list[OwnAlarm]
    after: str | None
    """The cursor of the next page; null if this is the last one."""


class Listing:
    def __init__(self, freshness: Freshness, pool: Any, texts: AlarmTexts) -> None:
        self._freshness = freshness
        self._pool = pool
        self._texts = texts

    @handles(
        Route(
            method="GET",
            path="/api/reminder/alarms",
            id="listOwnAlarms",
            tag="reminder",
            summary="List alarms, soonest first: a person's own, or all",
            permission=for_alarms(Verb.READ),
            audited=AccessKind.REMINDER_TEXT,
            parameters=(
                Parameter("user_id", str, "Only alarms of this user."),
                Parameter(
                    "limit", Annotated[int, msgspec.Meta(ge=1, le=ROWS_MAX)], "The number of rows in the answer."
                ),
                Parameter("after", str, "The cursor: `after` of the previous page."),
                MIN_POSITION,
            ),
            answers={200: Answer(OwnAlarms, headers=BEHIND)},
            errors=(400, 503),
        )
    )
    async def show(self, request: web.Request, principal: Principal) -> web.Response:
        query = request.query
        refuse_unknown(query, _PARAMETERS)
        user_id = query.get("user_id")
        if principal.user_id is not None:
            user_id = whose(principal, user_id)
        limit = read_number(query, "limit", default=ROWS_DEFAULT, least=1, most=ROWS_MAX)
        after = _cursor(query.get("after"))
        awaited = await self._freshness.wait(request.headers, REMINDER.context)
        place = (None, None) if after is None else (after.next_alarm_time, after.page_id)
        try:
            rows = await self._pool.fetch(placed(_ALARMS), user_id, *place, limit, timeout=READ_S)
        except POSTGRES_AWAY as error:
            report("database", "alarms_not_read", error=repr(error))
            raise unavailable("The database does not answer") from error
        more = _written(rows[-1]) if len(rows) == limit else None
        body = {"alarms": await self._texts.shown([dict(row) for row in rows]), "after": more}
        return json_answer(body, headers=awaited.headers)


def _cursor(text: str | None) -> _Cursor | None:
    if text is None:
        return None
    try:
        if len(text) > CURSOR_CHARS_MAX:
            raise ValueError("too long")
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=_Cursor)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise invalid("after must be the value from the previous page", field="after", value=text[:64]) from error


def _written(row: Any) -> str:
    cursor = _Cursor(row["next_alarm_time"], row["page_id"])
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()
