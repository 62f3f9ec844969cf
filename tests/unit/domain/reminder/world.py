"""What tests of reminders begin with: users, alarms, and a sender who claims and reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from drover.domain.reminder import REMINDER, reminder_decider
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.policy import Policy
from drover.domain.reminder.state import Alarm, moment_at
from drover.testing.scenario import Scenario

PAGE = "page-1"
USER = "user_1"
SEOUL = "Asia/Seoul"
NEW_YORK = "America/New_York"
DAILY = Policy(cap=timedelta(hours=24))
"""No pause grows: one sending a day."""


class World(Scenario):
    """A partition of reminders at a moment, with what tests do again and again."""

    def __init__(self, now: datetime | None = None, policy: Policy | None = None) -> None:
        super().__init__(REMINDER if policy is None else reminder_decider(policy))
        if now is not None:
            self.now = now

    def living_in(self, timezone: str, user: str = USER) -> World:
        self.when(c.SetTimezone(user, timezone))
        return self

    def registered(self, page: str = PAGE, user: str = USER) -> World:
        self.when(c.RegisterByPage(page, user, f"title of {page}", f"body of {page}"))
        return self

    def scheduled(self, time: datetime, page: str = PAGE, user: str = USER) -> World:
        self.when(c.Schedule(page, user, time))
        assert self.decision.rejection is None, self.decision.rejection
        return self

    def claimed(self, limit: int = 100) -> World:
        self.when(c.ClaimDue(limit, "sender-1"))
        return self

    def sent(self, page: str = PAGE) -> World:
        self.when(self.report(c.ReportSent, page, notification_id="n-1"))
        return self

    def failed(self, page: str = PAGE, *, permanent: bool = False) -> World:
        self.when(self.report(c.ReportFailed, page, permanent=permanent, code="http_503", error="no"))
        return self

    def unknown(self, page: str = PAGE, **more) -> World:
        self.when(self.report(c.ReportUnknown, page, **{"code": "timed_out", **more}))
        return self

    def report(self, kind, page: str = PAGE, **fields):
        """Of the sending that is in hand now."""
        alarm = self.alarm(page)
        return kind(page, alarm.sent_count, alarm.life, alarm.attempt, **fields)

    def alarm(self, page: str = PAGE) -> Alarm:
        return self.state.alarms[page]

    def next_time(self, page: str = PAGE) -> datetime:
        return moment_at(self.alarm(page).next_s)

    def local(self, page: str = PAGE) -> datetime:
        """When the alarm is due, as its user's clock shows it."""
        alarm = self.alarm(page)
        return self.next_time(page).astimezone(ZoneInfo(alarm.user.timezone))

    def wakes(self, page: str = PAGE) -> datetime:
        return moment_at(self.alarm(page).wake_s)

    def at(self, moment: datetime) -> World:
        self.now = moment
        return self

    def when_due(self, page: str = PAGE) -> World:
        return self.at(max(self.now, self.wakes(page)))

    def events_of(self, kind: type) -> list:
        return [event for event in self.decision.events if isinstance(event, kind)]


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)


def wall(*fields: int) -> datetime:
    """What a user's clock shows."""
    return datetime(*fields)  # noqa: DTZ001 - it has no zone, the user has


def scheduled_for(world: World) -> e.AlarmScheduled:
    (event,) = world.events_of(e.AlarmScheduled)
    return event
