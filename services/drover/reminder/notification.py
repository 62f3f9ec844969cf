"""What a provider gets to send, and its possible outcomes. Independent of the provider."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from drover.domain.reminder.state import Subscription


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """One sending. `key` is the same for every try."""

    key: str
    page_id: str
    user_id: str
    title: str
    body: str
    sent_count: int
    subscriptions: tuple[Subscription, ...] = ()
    """The user's subscriptions, without those that already have it."""
    delivered: tuple[str, ...] = ()
    """Subscriptions that got it in an earlier try."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of every outcome."""

    gone: tuple[str, ...] = ()
    """Subscriptions that no longer exist: they are not tried again."""


class Delivered(Outcome, frozen=True, kw_only=True):
    notification_id: str | None = None


class Failed(Outcome, frozen=True, kw_only=True):
    """The reminder was certainly not delivered."""

    permanent: bool
    """A retry would fail again."""
    code: str
    error: str = ""


class Uncertain(Outcome, frozen=True, kw_only=True):
    """The reminder may have been delivered, or was delivered in part."""

    code: str
    error: str = ""
    delivered: tuple[str, ...] = ()


class Provider(Protocol):
    """Sends notifications. Must return an outcome; an exception is a bug and counts as uncertain."""

    name: str

    def running(self) -> AbstractAsyncContextManager[object]: ...

    async def send(self, notification: Notification) -> Delivered | Failed | Uncertain: ...
