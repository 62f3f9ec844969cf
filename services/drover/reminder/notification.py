"""The data that a provider gets to send a reminder, and the possible outcomes. The same for all providers."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from drover.domain.reminder.state import Subscription


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder to send. `key` is its idempotency key, which is the same for every try."""

    key: str
    page_id: str
    user_id: str
    title: str
    body: str
    sent_count: int
    subscriptions: tuple[Subscription, ...] = ()
    """The user's subscriptions, without those that already got the reminder."""
    delivered: tuple[str, ...] = ()
    """The ids of subscriptions that got the reminder in an earlier try."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that every outcome has."""

    gone: tuple[str, ...] = ()
    """The ids of subscriptions that no longer exist. They are not tried again."""


class Delivered(Outcome, frozen=True, kw_only=True):
    notification_id: str | None = None


class Failed(Outcome, frozen=True, kw_only=True):
    """The reminder was certainly not delivered."""

    permanent: bool
    """Whether a retry would fail again."""
    code: str
    error: str = ""
    only_for_a_day: bool = False
    """Whether to retry for a day and then give up."""


class Uncertain(Outcome, frozen=True, kw_only=True):
    """The reminder may have been delivered, or was delivered to some subscriptions only."""

    code: str
    error: str = ""
    delivered: tuple[str, ...] = ()


class Provider(Protocol):
    """Sends reminders. Must return an outcome; an exception is a bug, and counts as `Uncertain`."""

    name: str

    def running(self) -> AbstractAsyncContextManager[object]: ...

    async def send(self, notification: Notification) -> Delivered | Failed | Uncertain: ...
