"""The routes of the reminder service, described."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from drover.reminder.edge import alarms, listing, sending, subscriptions, users
from drover.web.openapi.operation import (
    IDEMPOTENCY_KEY,
    MIN_POSITION,
    POSITION,
    Answer,
    Method,
    Operation,
    Parameter,
    in_path,
)


class RegisterByPage(alarms._Register):
    """A page whose user is to be reminded of it."""


class ScheduleAlarm(alarms._Schedule):
    """A time with an offset, or without one on the user's own clock."""


class PagesDeleted(alarms._Deleted):
    """Pages that are gone."""


class Subscribe(subscriptions._Subscribe):
    """As the browser's push manager gives it."""


class SetTimezone(users._Timezone):
    """An IANA name, such as Asia/Seoul."""


class ChangeSending(sending._Change):
    """How many alarms a claim takes."""


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
    """By so much later than asked for: the minute was taken."""
    crowded: bool
    """No free minute was found."""


class DeletedPages(msgspec.Struct):
    deleted: list[str]
    """Those that had an alarm."""


class Subscribed(msgspec.Struct):
    id: str
    user_id: str
    channel: str


class UserTimezone(msgspec.Struct):
    user_id: str
    timezone: str


class FetchLimit(msgspec.Struct):
    fetch_limit: int


class PublicKey(msgspec.Struct):
    public_key: str


class OwnAlarm(msgspec.Struct):
    page_id: str
    user_id: str
    title: str
    body: str
    next_alarm_time: datetime
    sent_count: int
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
    """For the page that follows."""


def _write(
    method: Method,
    path: str,
    id: str,
    summary: str,
    body: Any,
    answers: dict[int, Answer],
    *,
    parameters: tuple[Parameter, ...] = (),
    errors: tuple[int, ...] = (),
) -> Operation:
    return Operation(
        method=method,
        path=path,
        id=id,
        tag="reminder",
        summary=summary,
        body=body,
        parameters=(*parameters, IDEMPOTENCY_KEY),
        answers=answers,
        errors=(400, 404, 413, 415, 422, 503, *errors),
    )


def _recorded(type_: Any) -> Answer:
    return Answer(type_, "Recorded", headers=POSITION)


OPERATIONS: Final = (
    _write(
        "POST",
        alarms.REGISTER,
        "registerAlarm",
        "Make or renew the alarm of a page: it is due now",
        RegisterByPage,
        {200: _recorded(RegisteredAlarm), 201: _recorded(RegisteredAlarm)},
        errors=(409,),
    ),
    _write(
        "POST", alarms.SCHEDULE, "scheduleAlarm", "Set the next time", ScheduleAlarm, {200: _recorded(ScheduledAlarm)}
    ),
    _write("POST", alarms.DELETED, "deleteAlarms", "Pages are gone", PagesDeleted, {200: _recorded(DeletedPages)}),
    _write(
        "PUT",
        users.PATH,
        "setTimezone",
        "Where a user lives",
        SetTimezone,
        {200: _recorded(UserTimezone)},
        parameters=(in_path("id", str, "Of the user."),),
    ),
    Operation(
        method="GET",
        path=listing.PATH,
        id="listOwnAlarms",
        tag="reminder",
        summary="Alarms, soonest first: a person's own, or any",
        parameters=(
            Parameter("user_id", str, "Of this user."),
            Parameter("limit", Annotated[int, Meta(ge=1, le=listing.ROWS_MAX)], "Rows in the answer."),
            Parameter("after", str, "Where to go on: `after` of the page before."),
            MIN_POSITION,
        ),
        answers={200: Answer(OwnAlarms)},
        errors=(400, 503),
    ),
    _write(
        "POST",
        subscriptions.PATH,
        "subscribe",
        "Push to this browser",
        Subscribe,
        {201: _recorded(Subscribed)},
        errors=(409,),
    ),
    _write(
        "DELETE",
        f"{subscriptions.PATH}/{{id}}",
        "unsubscribe",
        "Push to it no more",
        None,
        {204: Answer(None, "Recorded", headers=POSITION)},
        parameters=(in_path("id", str, "Of the subscription."), Parameter("user_id", str, "Whose it is.")),
    ),
    Operation(
        method="GET",
        path=subscriptions.KEY_PATH,
        id="getVapidKey",
        tag="reminder",
        summary="What a browser needs to subscribe",
        answers={200: Answer(PublicKey)},
        errors=(409,),
        caller="anybody",
    ),
    _write(
        "PATCH",
        sending.PATH,
        "changeSending",
        "How many alarms are taken at once",
        ChangeSending,
        {200: _recorded(FetchLimit)},
    ),
)
