"""The form of a partition's state in a snapshot: only what cannot be computed, each text once, users by number."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from sys import intern

import msgspec

from drover.domain.alerts import Snooze
from drover.domain.erasure import Erasures
from drover.domain.quota import DailyUse
from drover.domain.reminder.state import Alarm, Reminders, Subscription, Tombstone, User, minute_of
from drover.domain.timers import Timers


class AlarmImage(msgspec.Struct, array_like=True, gc=False, frozen=True):
    page_id: str
    user: int
    """The index of the alarm's user in the list `users`."""
    text: bytes
    next_s: int
    wake_s: int
    sent_count: int
    life: int
    attempt: int
    shift_min: int
    dispatched: bool
    immediate: bool
    moved: bool


class ReminderImage(msgspec.Struct):
    users: list[tuple[str, str]]
    """The id and the time zone of each user."""
    alarms: list[AlarmImage]
    delivered: dict[str, tuple[str, ...]]
    subscriptions: dict[str, list[Subscription]]
    deletions: list[Tombstone]
    alerts: dict[str, str]
    timers: Timers
    failed_in_row: int
    fetch_limit: int | None
    once: list[str] = []
    outside: list[str] = []
    unlisted: list[str] = []
    life_floor: int = 0
    ahead_s: float = 0.0
    use: DailyUse = msgspec.field(default_factory=DailyUse)
    erased: Erasures = {}
    refused: dict[str, int] = {}
    snoozes: dict[str, Snooze] = {}


def to_image(state: Reminders) -> ReminderImage:
    numbers = {user_id: number for number, user_id in enumerate(state.users)}
    return ReminderImage(
        users=[(user.user_id, user.timezone) for user in state.users.values()],
        alarms=[_alarm_image(alarm, numbers[alarm.user.user_id]) for alarm in state.alarms.values()],
        delivered=state.delivered,
        subscriptions={user_id: list(known.values()) for user_id, known in state.subscriptions.items()},
        deletions=[*state.told, *state.deletions],
        alerts=state.alerts,
        timers=state.timers,
        failed_in_row=state.failed_in_row,
        fetch_limit=state.fetch_limit,
        once=sorted(state.once),
        outside=sorted(state.outside),
        unlisted=sorted(state.unlisted),
        life_floor=state.life_floor,
        ahead_s=state.ahead_s,
        use=state.use,
        erased=state.erased,
        refused=state.refused,
        snoozes=state.snoozes,
    )


def _alarm_image(alarm: Alarm, user: int) -> AlarmImage:
    return AlarmImage(
        page_id=alarm.page_id,
        user=user,
        text=alarm.text,
        next_s=alarm.next_s,
        wake_s=alarm.wake_s,
        sent_count=alarm.sent_count,
        life=alarm.life,
        attempt=alarm.attempt,
        shift_min=alarm.shift_min,
        dispatched=alarm.dispatched,
        immediate=alarm.immediate,
        moved=alarm.moved,
    )


def from_image(image: ReminderImage) -> Reminders:
    users = [User(user_id, intern(timezone)) for user_id, timezone in image.users]
    alarms = {alarm.page_id: alarm for alarm in _alarms(image.alarms, users)}
    for user in users:
        user.minutes = array("I", sorted(user.minutes))
    state = Reminders(alarms, {user.user_id: user for user in users})
    state.delivered = image.delivered
    state.once = set(image.once)
    state.subscriptions = {
        user_id: {known.subscription_id: known for known in list_} for user_id, list_ in image.subscriptions.items()
    }
    state.deletions.extend(image.deletions)
    state.deleted = {stone.page_id: stone.life for stone in image.deletions}
    state.alerts, state.snoozes, state.timers = image.alerts, image.snoozes, image.timers
    state.failed_in_row, state.fetch_limit = image.failed_in_row, image.fetch_limit
    state.ahead_s = image.ahead_s
    state.use = image.use
    state.erased = image.erased
    state.refused = image.refused
    state.outside, state.unlisted = set(image.outside), set(image.unlisted)
    state.life_floor = image.life_floor
    return state


def _alarms(images: list[AlarmImage], users: list[User]) -> Iterator[Alarm]:
    """Make the alarms from their stored form, and remove each from `images`: otherwise a start would need twice the
    memory."""
    images.reverse()
    while images:
        image = images.pop()
        user = users[image.user]
        user.alarms += 1
        if not image.immediate:
            user.minutes.append(minute_of(image.next_s))
        # Share one int object, as alarms do that were never in a snapshot: it saves memory.
        wake_s = image.next_s if image.wake_s == image.next_s else image.wake_s
        yield Alarm(
            page_id=image.page_id,
            user=user,
            text=image.text,
            next_s=image.next_s,
            wake_s=wake_s,
            sent_count=image.sent_count,
            life=image.life,
            attempt=image.attempt,
            shift_min=image.shift_min,
            dispatched=image.dispatched,
            immediate=image.immediate,
            moved=image.moved,
        )
