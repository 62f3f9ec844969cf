"""State of a partition: alarms and users, compact, so that a million alarms fit into one process (see `make bench`)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import deque
from datetime import UTC, datetime

import msgspec

from drover.domain.alerts import Snooze
from drover.domain.erasure import Erasures
from drover.domain.quota import DailyUse
from drover.domain.reminder.due import Due
from drover.domain.timers import Timers


def seconds_of(moment: datetime) -> int:
    """Convert to whole seconds since 1970, rounded down, so that an alarm requested for now is due now."""
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
    """When the alarm is due, as the user set it or after its pause. In seconds since 1970, like all times here."""
    wake_s: int
    """When the alarm must be handled: at `next_s`; after a failure, at its retry time; while it is claimed, at its
    recovery time."""
    sent_count: int
    life: int
    attempt: int = 0
    """How many times the current sending has been claimed."""
    shift_min: int = 0
    """Minutes by which `next_s` is later than wanted, in local time."""
    dispatched: bool = False
    """Whether the alarm is claimed: it is being sent, or the outcome is unknown."""
    immediate: bool = True
    """Whether the alarm was requested for now. Such an alarm does not occupy a minute."""
    moved: bool = False
    """Whether the user set another time while the alarm was claimed. That time applies after the sending."""

    @property
    def minute(self) -> int | None:
        """The minute that the alarm occupies among the alarms of its user. None if it is immediate."""
        return None if self.immediate else minute_of(self.next_s)


class Subscription(msgspec.Struct, gc=False, frozen=True, array_like=True):
    subscription_id: str
    channel: str
    sealed: str


class Tombstone(msgspec.Struct, gc=False, frozen=True, array_like=True):
    page_id: str
    life: int
    at_s: int
    once: bool = False
    """Whether the page was a notice."""


class Reminders:
    """The state of one partition. Only `evolve` changes it."""

    __slots__ = (
        "ahead_s",
        "alarms",
        "alerts",
        "deleted",
        "deletions",
        "delivered",
        "erased",
        "failed_in_row",
        "fetch_limit",
        "in_hand",
        "life_floor",
        "once",
        "outside",
        "recovering",
        "refused",
        "snoozes",
        "subscriptions",
        "timers",
        "told",
        "unlisted",
        "use",
        "users",
        "waiting",
    )

    def __init__(self, alarms: dict[str, Alarm] | None = None, users: dict[str, User] | None = None) -> None:
        self.alarms = alarms if alarms is not None else {}
        self.users = users if users is not None else {}
        self.in_hand = {page_id: alarm for page_id, alarm in self.alarms.items() if alarm.dispatched}
        self.waiting = Due(self.alarms, dispatched=False)
        self.recovering = Due(self.in_hand, dispatched=True)
        self.outside: set[str] = set()
        """Page ids of alarms that a sender program of the users has claimed through the table `alarm`."""
        self.unlisted: set[str] = set()
        """Users with alarms whose row in `user_info` was deleted."""
        self.delivered: dict[str, tuple[str, ...]] = {}
        """By page id, for sendings that were delivered in part: the subscriptions that have received the reminder."""
        self.refused: dict[str, int] = {}
        """By page id, for sendings whose last attempt was refused by the receiver: the first of the refused attempts in
        a row."""
        self.erased: Erasures = {}
        """How often each user was erased, by the token of the user's id (`erasure.token_of`)."""
        self.once: set[str] = set()
        """Page ids of notices, which are deleted after their first sending."""
        self.subscriptions: dict[str, dict[str, Subscription]] = {}
        """Subscriptions by user, then by id."""
        self.deleted: dict[str, int] = {}
        """The `life` numbers of the alarms of recently deleted pages, by page id."""
        self.deletions: deque[Tombstone] = deque()
        self.told: deque[Tombstone] = deque()
        """Deleted notices that are too old for `deletions`. All of them are remembered as long as a request for them
        may be repeated, so that no notice is sent twice."""
        self.life_floor = 0
        """The highest `life` number of the pages that were forgotten early. An alarm of a page that is not known gets a
        higher one, because the page may have been one of them."""
        self.use = DailyUse()
        self.alerts: dict[str, str] = {}
        self.snoozes: dict[str, Snooze] = {}
        self.timers = Timers()
        """Timers of alerts."""
        self.failed_in_row = 0
        self.ahead_s = 0.0
        """Seconds by which the partition's time is ahead of the wall clock. All times in this state are wall-clock
        times."""
        self.fetch_limit: int | None = None
        """The fetch limit that was set at run time. None: the configured one applies."""

    def next_life(self, page_id: str) -> int:
        """Return the `life` number for a new alarm of this page: one that no recent alarm of the page had."""
        return self.deleted.get(page_id, self.life_floor) + 1

    def lists(self, user_id: str) -> bool:
        """Whether the user has a row in `user_info`."""
        return user_id in self.users and user_id not in self.unlisted

    def due_s(self) -> int | None:
        """When the next alarm can be claimed, in seconds since 1970."""
        first = self.first()
        return None if first is None else first[0]

    def first(self) -> tuple[int, str] | None:
        """Return when the next alarm can be claimed, and its page id: when it is due or, if it is claimed, when its
        claim expires."""
        waiting, recovering = self.waiting.first(), self.recovering.first()
        if waiting is None or recovering is None:
            return waiting or recovering
        return min(waiting, recovering)
