"""What can be asked of reminders. Commands go to the partition of their user."""

from __future__ import annotations

from datetime import datetime

from drover.domain.decider import Command, Tick


class RegisterByPage(Command):
    """Make an alarm for a page, due now; or have the one that is there sent now."""

    page_id: str
    user_id: str
    title: str | None = None
    """None: as it is, or empty."""
    body: str | None = None


class Schedule(Command):
    """Set when the alarm is sent next."""

    page_id: str
    user_id: str
    next_alarm_time: datetime
    """Without an offset it is local to the user's time zone; with one it is a moment."""


class SetTimezone(Command):
    """Where a user lives. Alarms that are set keep their moment; what is computed from now on follows the new zone."""

    user_id: str
    timezone: str


class DeletePages(Command):
    """These pages are gone, and their alarms with them. Pages without one do not matter."""

    page_ids: tuple[str, ...]
    user_id: str | None = None
    """Only this user's; None: whoever's they are."""


class ClaimDue(Command):
    """A sender takes what is due: the caller alone sends it."""

    limit: int
    instance: str


class Report(Command):
    """What became of an attempt at a sending."""

    page_id: str
    sending: int
    """`sent_count` when it was claimed."""
    life: int
    attempt: int


class ReportSent(Report):
    notification_id: str | None = None


class ReportFailed(Report):
    """It was not delivered, that is known."""

    permanent: bool
    """Sending it again would fail again."""
    code: str
    error: str = ""


class ReportUnknown(Report):
    """It may have been delivered, or a part of it was: nobody may send it now, nor take it for sent."""

    code: str
    error: str = ""
    delivered: tuple[str, ...] = ()
    """Subscriptions that have it for certain."""


class AddSubscription(Command):
    """A way to reach a user. What is secret about it is sealed."""

    user_id: str
    subscription_id: str
    channel: str
    sealed: str


class RemoveSubscription(Command):
    user_id: str
    subscription_id: str
    reason: str = "removed"
    """`removed` by its user, `gone` where the push service says that it is no more."""


class ChangeFetchLimit(Command):
    """How many alarms a claim takes, from now on and on every instance."""

    fetch_limit: int


ReminderCommand = (
    RegisterByPage
    | Schedule
    | SetTimezone
    | DeletePages
    | ClaimDue
    | ReportSent
    | ReportFailed
    | ReportUnknown
    | AddSubscription
    | RemoveSubscription
    | ChangeFetchLimit
    | Tick
)
