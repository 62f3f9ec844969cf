"""State of a partition: alarms and users, compact, so that a million alarms fit into one process (see `make bench`)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from datetime import UTC, datetime

import msgspec

from drover.domain.reminder.due import Due
from drover.domain.timers import Timers


def seconds_of(moment: datetime) -> int:
    """Whole seconds since 1970, rounded down: what is requested now is due now."""
    return int(moment.timestamp() // 1)


def moment_at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def minute_of(seconds: int) -> int:
    return seconds // 60


def no_minutes() -> array[int]:
    return array("I")


class User(msgspec.Struct, gc=False):
    user_id: str
    timezone: str
    minutes: array[int] = msgspec.field(default_factory=no_minutes)
    """Minutes since 1970 that the user's alarms take, sorted, one entry for each alarm that is not immediate.
    Four bytes each: a set of ints would take seventy."""
    alarms: int = 0

    def alarms_in(self, minute: int) -> int:
        return bisect_right(self.minutes, minute) - bisect_left(self.minutes, minute)

    def take(self, minute: int) -> None:
        insort(self.minutes, minute)

    def leave(self, minute: int) -> None:
        del self.minutes[bisect_left(self.minutes, minute)]


class Alarm(msgspec.Struct, gc=False):
    page_id: str
    user: User
    text: bytes
    """Title and body, packed by `texts`."""
    next_s: int
    """When the alarm is due, as the user set it or after its pause. In seconds, like all times here."""
    wake_s: int
    """When to act: at `next_s`, or later after a failure; while it is claimed, at its recovery time."""
    sent_count: int
    life: int
    attempt: int = 0
    """Claims of the current sending."""
    shift_min: int = 0
    """Minutes by which `next_s` is later than wanted, in local time."""
    dispatched: bool = False
    """Whether it is claimed: a sender is sending it, or the outcome is unknown."""
    immediate: bool = True
    """Whether it was requested for now. Then it takes no minute."""
    moved: bool = False
    """Whether the user set another time while it was claimed. That time applies after the sending."""

    @property
    def minute(self) -> int | None:
        """The minute that it takes among the alarms of its user, if any."""
        return None if self.immediate else minute_of(self.next_s)


class Subscription(msgspec.Struct, gc=False, frozen=True, array_like=True):
    subscription_id: str
    channel: str
    sealed: str


class Tombstone(msgspec.Struct, gc=False, frozen=True, array_like=True):
    page_id: str
    life: int
    at_s: int


class Reminders:
    """The state of one partition. Only `evolve` changes it."""

    __slots__ = (
        "alarms",
        "alerts",
        "deleted",
        "deletions",
        "delivered",
        "failed_in_row",
        "fetch_limit",
        "in_hand",
        "recovering",
        "subscriptions",
        "timers",
        "users",
        "waiting",
    )

    def __init__(self, alarms: dict[str, Alarm] | None = None, users: dict[str, User] | None = None) -> None:
        self.alarms = alarms if alarms is not None else {}
        self.users = users if users is not None else {}
        self.in_hand = {page_id: alarm for page_id, alarm in self.alarms.items() if alarm.dispatched}
        self.waiting = Due(self.alarms, dispatched=False)
        self.recovering = Due(self.in_hand, dispatched=True)
        self.delivered: dict[str, tuple[str, ...]] = {}
        """For claimed sendings that were delivered in part: the subscriptions that received them."""
        self.subscriptions: dict[str, dict[str, Subscription]] = {}
        """Subscriptions by user, then by id."""
        self.deleted: dict[str, int] = {}
        """Life numbers of recently deleted pages."""
        self.deletions: deque[Tombstone] = deque()
        self.alerts: dict[str, str] = {}
        self.timers = Timers()
        """Timers of alerts."""
        self.failed_in_row = 0
        self.fetch_limit: int | None = None
        """The limit set at run time; None: as configured."""

    def due_s(self) -> int | None:
        """When the next alarm can be claimed."""
        first = self.first()
        return None if first is None else first[0]

    def first(self) -> tuple[int, str] | None:
        """The alarm that is due first, waiting or to be recovered."""
        waiting, recovering = self.waiting.first(), self.recovering.first()
        if waiting is None or recovering is None:
            return waiting or recovering
        return min(waiting, recovering)
