"""What a provider is given to send, and what it can say about it. Which provider there is, is not known here."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from drover.domain.reminder.state import Subscription


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """One sending. However often it is tried, `key` is the same."""

    key: str
    page_id: str
    user_id: str
    title: str
    body: str
    sent_count: int
    subscriptions: tuple[Subscription, ...] = ()
    """Where the user can be reached, without those that have it already."""
    delivered: tuple[str, ...] = ()
    """Subscriptions that have it from an earlier try."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What every outcome may bring along."""

    gone: tuple[str, ...] = ()
    """Subscriptions that are no more: nobody needs to try them again."""


class Delivered(Outcome, frozen=True, kw_only=True):
    notification_id: str | None = None


class Failed(Outcome, frozen=True, kw_only=True):
    """It was not delivered, for certain."""

    permanent: bool
    """The same again would fail again."""
    code: str
    error: str = ""


class Uncertain(Outcome, frozen=True, kw_only=True):
    """It may have been delivered; or it was, in part."""

    code: str
    error: str = ""
    delivered: tuple[str, ...] = ()


class Provider(Protocol):
    """How notifications leave. Must say what it knows, and raise only by mistake: that counts as uncertain."""

    name: str

    def running(self) -> AbstractAsyncContextManager[object]: ...

    async def send(self, notification: Notification) -> Delivered | Failed | Uncertain: ...
