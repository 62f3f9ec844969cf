"""What is known of a partition's alarms and users, compact: a million alarms fit one process. Bytes: `make bench`."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from datetime import UTC, datetime

import msgspec

from drover.domain.reminder.due import Due
from drover.domain.timers import Timers


def seconds_of(moment: datetime) -> int:
    """Whole seconds since 1970, the fraction cut: what is asked for now is due now."""
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
    """Which minutes since 1970 the user's alarms fall on, in order; once for each alarm, immediate ones left out.
    Four bytes for each: a set of numbers would take seventy."""
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
    """Title and body (`texts`)."""
    next_s: int
    """When it is due by the user's wish or by its own pauses. In seconds, as all times in here."""
    wake_s: int
    """When something is to be done: `next_s`, or later after a failure; while it is in hand, when it is recovered."""
    sent_count: int
    life: int
    attempt: int = 0
    """Claims of the sending that is due or in hand."""
    shift_min: int = 0
    """By so much `next_s` is later than wanted, on the user's clock."""
    dispatched: bool = False
    """In hand: somebody sends it, or nobody knows what became of that."""
    immediate: bool = True
    """Asked for at once: it holds no minute."""
    moved: bool = False
    """Set anew while it was in hand: what was set holds after the sending."""

    @property
    def minute(self) -> int | None:
        """The minute of its user that it holds."""
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
    """One partition. Changed by `evolve` only."""

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
        """Of sendings in hand that were delivered in part: the subscriptions that have it."""
        self.subscriptions: dict[str, dict[str, Subscription]] = {}
        """By user, then by id."""
        self.deleted: dict[str, int] = {}
        """How many lives a page has had that was deleted lately."""
        self.deletions: deque[Tombstone] = deque()
        self.alerts: dict[str, str] = {}
        self.timers = Timers()
        """Of alerts."""
        self.failed_in_row = 0
        self.fetch_limit: int | None = None
        """As somebody set it while running; None: as configured."""

    def due_s(self) -> int | None:
        """When the next claim has something to take."""
        first = self.first()
        return None if first is None else first[0]

    def first(self) -> tuple[int, str] | None:
        """What is due first, waiting or given up for lost."""
        waiting, recovering = self.waiting.first(), self.recovering.first()
        if waiting is None or recovering is None:
            return waiting or recovering
        return min(waiting, recovering)
