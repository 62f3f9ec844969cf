"""`register-by-page`, `schedule/v2` and `pages-deleted`: apps manage the alarms of their users."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from aiohttp import web

from drover.domain.errors import Code
from drover.domain.reminder import commands
from drover.domain.reminder.policy import PAGES_PER_DELETION_MAX
from drover.domain.reminder.texts import cut
from drover.reminder.edge.callers import for_alarms, whose
from drover.reminder.faults import report
from drover.web.alarm_texts import AlarmTexts
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import Origin, PartitionedClient, request_origin
from drover.web.errors import ApiError, invalid
from drover.web.owner import quota_of
from drover.web.permissions import Verb
from drover.web.route import handles, recorded, write

PAGES_MAX: Final = 1_000
"""Maximum of pages in one request; more are refused. One request becomes several commands."""
TIME_CHARS_MAX: Final = 64


class RegisterByPage(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request for an alarm: a page that its user wants to be reminded of."""

    page_id: str
    user_id: str | None = None
    title: str | None = None
    body: str | None = None


class ScheduleAlarm(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to set the time of an alarm. A time without an offset is in the user's time zone."""

    page_id: str
    next_alarm_time: str
    user_id: str | None = None


class PagesDeleted(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a report that pages were deleted."""

    page_ids: list[str]
    user_id: str | None = None


class RegisteredAlarm(msgspec.Struct):
    page_id: str
    user_id: str
    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int


class ScheduledAlarm(msgspec.Struct):
    page_id: str
    user_id: str
    next_alarm_time: datetime
    sent_count: int
    timezone: str
    shift_min: int
    """By how many minutes the alarm is later than requested, because the requested minute was taken."""
    crowded: bool
    """Whether no free minute was found, so that the alarm shares one."""


class DeletedPages(msgspec.Struct):
    deleted: list[str]
    """The ids of those pages that had an alarm."""


_REGISTER: Final = Body(RegisterByPage)
_SCHEDULE: Final = Body(ScheduleAlarm)
_DELETED: Final = Body(PagesDeleted)


class Alarms:
    def __init__(self, clients: PartitionedClient, texts: AlarmTexts, *, events_per_day: int) -> None:
        """`events_per_day`: the quota of an end user."""
        self._clients = clients
        self._texts = texts
        self._events_per_day = events_per_day

    @handles(
        write(
            path="/api/reminder/register-by-page",
            id="registerAlarm",
            tag="reminder",
            summary="Create or renew the alarm of a page; it is due now",
            permission=for_alarms(Verb.CREATE),
            body=RegisterByPage,
            answers={200: recorded(RegisteredAlarm), 201: recorded(RegisteredAlarm)},
            errors=(409,),
        )
    )
    async def register(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _REGISTER.decode(raw)
        user_id = whose(principal, wish.user_id)
        client = self._clients.of(user_id)
        client.check(commands.RegisterByPage(wish.page_id, user_id))  # before a key is made: not for an invalid user id
        # Truncate long texts before they are sealed.
        given = {name: cut(text) for name, text in (("title", wish.title), ("body", wish.body)) if text is not None}
        seal = await self._texts.sealer([user_id] if any(given.values()) else ())
        sealed = {name: seal(user_id, name, text) for name, text in given.items()}
        quota = quota_of(principal, self._events_per_day)
        command = commands.RegisterByPage(wish.page_id, user_id, sealed.get("title"), sealed.get("body"), quota=quota)
        done = await client.send(command, request_origin(request, principal, raw=raw))
        (alarm,) = await self._texts.shown([{name: v for name, v in done.result.items() if name != "created"}])
        status = 201 if done.result["created"] else 200
        return json_answer(alarm, status=status, headers=client.position_headers(done.position))

    @handles(
        write(
            path="/api/reminder/schedule/v2",
            id="scheduleAlarm",
            tag="reminder",
            summary="Set the next time of an alarm",
            permission=for_alarms(Verb.UPDATE),
            body=ScheduleAlarm,
            answers={200: recorded(ScheduledAlarm)},
        )
    )
    async def schedule(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        wish = _SCHEDULE.decode(raw)
        user_id = whose(principal, wish.user_id)
        command = commands.Schedule(
            wish.page_id,
            user_id,
            _time(wish.next_alarm_time),
            quota=quota_of(principal, self._events_per_day),
        )
        client = self._clients.of(user_id)
        try:
            done = await client.send(command, request_origin(request, principal, raw=raw))
        except ApiError as error:
            if error.code == Code.PAST_SCHEDULE:
                asked = command.next_alarm_time.isoformat()
                report("past_schedule", "past_schedule_skipped", page_id=wish.page_id, user_id=user_id, asked=asked)
            raise
        if done.result["crowded"]:
            report("crowded_minute", "minute_crowded", page_id=wish.page_id, user_id=user_id)
        return json_answer(done.result, headers=client.position_headers(done.position))

    @handles(
        write(
            path="/api/reminder/pages-deleted",
            id="deleteAlarms",
            tag="reminder",
            summary="Delete the alarms of deleted pages",
            permission=for_alarms(Verb.DELETE),
            body=PagesDeleted,
            answers={200: recorded(DeletedPages)},
        )
    )
    async def pages_deleted(self, request: web.Request, principal: Principal) -> web.Response:
        """Delete the alarms of pages. A request of the back office without a user goes to all partitions, because
        programs that delete pages may not know the user."""
        raw = await read_body(request)
        wish = _DELETED.decode(raw)
        if len(wish.page_ids) > PAGES_MAX:
            raise invalid(f"At most {PAGES_MAX} pages at once", field="page_ids", value=len(wish.page_ids))
        user_id = whose(principal, wish.user_id) if principal.user_id or wish.user_id else None
        origin = request_origin(request, principal, raw=raw)
        deleted, headers = await delete_pages(self._clients, wish.page_ids, user_id, origin)
        return json_answer(DeletedPages(deleted), headers=headers)


async def delete_pages(
    clients: PartitionedClient, page_ids: list[str], user_id: str | None, origin: Origin
) -> tuple[list[str], dict[str, str]]:
    """Delete the alarms of pages. Returns the ids of pages that had one, and headers with the positions of the
    commits."""
    parts = [page_ids[at : at + PAGES_PER_DELETION_MAX] for at in range(0, len(page_ids), PAGES_PER_DELETION_MAX)]
    deletions = [commands.DeletePages(tuple(part), user_id) for part in parts]
    results, headers = await clients.send_all(deletions, origin, owner=user_id)
    return [page_id for result in results for page_id in result["deleted"]], headers


def _time(text: str) -> datetime:
    try:
        if len(text) > TIME_CHARS_MAX:
            raise ValueError("too long")
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise invalid(
            "next_alarm_time must be a time such as 2026-03-08T09:00 (the user's own) or 2026-03-08T00:00:00Z",
            field="next_alarm_time",
            value=text[:TIME_CHARS_MAX],
        ) from error
