"""A notice about an alert, the same for all receivers, and the possible outcomes of sending it."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

import msgspec

from drover.domain.severity import severity_of

Phase = Literal["raised", "resolved"]

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice that an alert was raised, or that it was resolved."""

    context: str
    alert_id: str
    phase: Phase
    kind: str
    subject: str
    at: datetime
    """When the alert was raised or resolved."""
    message: str = ""
    details: dict[str, Any] = {}
    until: datetime | None = None
    reason: str = ""
    """Why it was resolved."""
    raised_at: datetime | None = None
    """For a resolution: when the alert was raised."""

    @property
    def key(self) -> str:
        """The idempotency key: the same for every retry, so that receivers can recognise duplicates."""
        return f"{self.alert}.{self.phase}"

    @property
    def alert(self) -> str:
        """Context and id, each a valid token of a bucket key."""
        id_ = self.alert_id
        return f"{self.context}.{id_ if _TOKEN.fullmatch(id_) else sha256(id_.encode()).hexdigest()[:32]}"

    @property
    def severity(self) -> str:
        return severity_of(self.kind)


class Delivered(msgspec.Struct, frozen=True):
    """The receiver acknowledged it."""


class Failed(msgspec.Struct, frozen=True):
    """The receiver certainly did not get it."""

    code: str
    permanent: bool = False
    """A retry would fail again."""
    retry_after_s: float | None = None
    """The pause that the receiver asks for."""


class Uncertain(msgspec.Struct, frozen=True):
    """The receiver may have it: the request was sent, but no answer came."""

    code: str


Outcome = Delivered | Failed | Uncertain


class Receiver(Protocol):
    """A destination of notices. `send` returns an outcome; an exception is a defect and counts as uncertain."""

    name: str
    pace_s: float
    """Minimum pause between two notices."""

    def running(self) -> AbstractAsyncContextManager[object]: ...

    async def send(self, notice: Notice, *, repeat: bool) -> Outcome:
        """Send the notice. `repeat`: an earlier try may have arrived."""
