"""Commands of reminders. A command goes to the partition of its user."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.alert_handling import AlertCommand
from drover.domain.decider import Command, Tick
from drover.domain.limited_callers import ReportLimited


class RegisterByPage(Command):
    """Create an alarm for a page, due now; or make the existing one due now."""

    page_id: str
    user_id: str
    title: str | None = None
    """None: an existing alarm keeps its title, a new one gets an empty title."""
    body: str | None = None
    quota: int | None = None
    """How many events the user may cause in a day. None: no limit."""


class Notify(Command):
    """Send a user a message once. A repeat with the same `page_id` has no further effect."""

    page_id: str
    """The id of the message, chosen so that no page of a user has it."""
    user_id: str
    title: str
    body: str
    asked_at: datetime
    """When the reason for the message arose. A message that is a day old is not sent."""


class Schedule(Command):
    """Set the next alarm time."""

    page_id: str
    user_id: str
    next_alarm_time: datetime
    """Without an offset it is local time in the user's time zone; with one it is absolute."""
    quota: int | None = None
    """How many events the user may cause in a day. None: no limit."""


class SetTimezone(Command):
    """Set a user's time zone. Alarms keep their next time; later times are computed in the new zone."""

    user_id: str
    timezone: str
    existing: bool = False
    """Whether the command is refused for a user without a row in `user_info`."""
    only_if: str | None = None
    """The time zone that the user must still have, or the command is refused. None: any."""
    quota: int | None = None
    """How many events the user may cause in a day. None: no limit."""


class AddUser(Command):
    """Add a user's row in `user_info`, as a client wrote it."""

    user_id: str
    timezone: str | None = None
    """None: the default time zone."""


class RemoveUser(Command):
    """Remove a user's row in `user_info`. Their alarms stay, in the default time zone."""

    user_id: str
    only_if: str | None = None
    """The time zone that the user must still have, or the command is refused. None: any."""


class EraseUser(Command):
    """Erase a user: afterwards nobody can read the texts and subscriptions that the log has of this user. Their
    alarms stay, without readable texts, until they are deleted."""

    user_id: str


class AlarmRow(Command):
    """The columns of `alarm` that a client wrote. None: it did not write the column."""

    page_id: str
    user_id: str
    title: str | None = None
    body: str | None = None
    next_alarm_time: datetime | None = None
    """When the alarm is due next, with a UTC offset. A time that has passed, or is less than a minute ahead, means
    now."""
    sent_count: int | None = None
    """A count that is one more than before means that the client has sent the alarm."""
    last_notification_id: str | None = None
    processed_at: datetime | None = None
    """A time claims the alarm: the client is about to send it."""
    release: bool = False
    """Whether the client wrote null into `processed_at`, to end its claim."""


class AddAlarm(AlarmRow):
    """Create the alarm of a page. It is refused if the page has one."""


class AlarmSeen(msgspec.Struct, frozen=True):
    """The values of a row that a client's filters matched. If they have changed, the writer refuses the command."""

    claimed: bool | None = None
    attempt: int | None = None
    sent_count: int | None = None
    next_alarm_time: datetime | None = None


class ChangeAlarm(AlarmRow):
    only_if: AlarmSeen | None = None


class DeleteAlarm(Command):
    page_id: str
    user_id: str
    only_if: AlarmSeen | None = None


class DeletePages(Command):
    """Delete the alarms of these pages. Pages without an alarm are ignored."""

    page_ids: tuple[str, ...]
    user_id: str | None = None
    """Delete only this user's pages. None: pages of any user."""


class ClaimDue(Command):
    """Claim alarms that are due, for the caller to send. No other caller gets them while they are claimed."""

    limit: int
    instance: str


class Report(Command):
    """The outcome of one attempt to send."""

    page_id: str
    sending: int
    """The `sent_count` of the alarm when it was claimed."""
    life: int
    attempt: int


class ReportSent(Report):
    notification_id: str | None = None


class ReportFailed(Report):
    """The reminder was certainly not delivered."""

    permanent: bool
    """Whether a retry would fail again."""
    code: str
    error: str = ""
    only_for_a_day: bool = False
    """Whether to retry for a day and then give up: the receiver refused the caller or knows no such address, which may
    be a mistake that somebody corrects."""


class ReportUnknown(Report):
    """Report that a reminder may have been delivered, fully or in part. It is not sent again now, nor counted as
    sent."""

    code: str
    error: str = ""
    delivered: tuple[str, ...] = ()
    """Subscriptions of the user that certainly received it."""


class AddSubscription(Command):
    """Add a subscription: a way to reach a user. Its secrets are sealed."""

    user_id: str
    subscription_id: str
    channel: str
    sealed: str
    quota: int | None = None
    """How many events the user may cause in a day. None: no limit."""


class RemoveSubscription(Command):
    user_id: str
    subscription_id: str
    reason: str = "removed"
    """Why. `removed`: its user removed it. `gone`: the push service says that it no longer exists."""


class ChangeFetchLimit(Command):
    """Set how many alarms one claim takes, in every process that sends reminders."""

    fetch_limit: int


ReminderCommand = (
    RegisterByPage
    | Notify
    | Schedule
    | SetTimezone
    | AddUser
    | RemoveUser
    | EraseUser
    | AddAlarm
    | ChangeAlarm
    | DeleteAlarm
    | DeletePages
    | ClaimDue
    | ReportSent
    | ReportFailed
    | ReportUnknown
    | AddSubscription
    | RemoveSubscription
    | ChangeFetchLimit
    | ReportLimited
    | AlertCommand
    | Tick
)
