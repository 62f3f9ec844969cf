"""A notice about an alert, the same for all receivers, and the possible outcomes of sending it."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

import msgspec

from drover.domain.severity import severity_of

Phase = Literal["raised", "reminded", "resolved"]
"""`reminded`: a critical alert that was snoozed is still open when the snooze ends."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice that an alert was raised, is still open, or was resolved."""

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
    """Why the alert was resolved."""
    raised_at: datetime | None = None
    """When the alert was raised, if this is the notice of its resolution."""
    folded: tuple[Notice, ...] = ()
    """The notices of one kind and phase that this one stands for (`folding`), in the order of their log."""

    @property
    def key(self) -> str:
        """The idempotency key of the notice: the same for every retry, so that receivers can recognise duplicates."""
        if self.folded:
            keys = " ".join(one.key for one in self.folded)
            return f"{self.context}.{sha256(keys.encode()).hexdigest()[:32]}.{self.phase}"
        if self.phase == "reminded":  # an alert may be snoozed again
            return f"{self.alert}.{self.phase}-{self.at.timestamp():.0f}"
        return f"{self.alert}.{self.phase}"

    @property
    def alert(self) -> str:
        """The context and the id of the alert, in a form that is valid in the keys of a NATS bucket."""
        id_ = self.alert_id
        return f"{self.context}.{id_ if _TOKEN.fullmatch(id_) else sha256(id_.encode()).hexdigest()[:32]}"

    @property
    def severity(self) -> str:
        return severity_of(self.kind)


class Delivered(msgspec.Struct, frozen=True):
    """The receiver acknowledged the notice."""


class Failed(msgspec.Struct, frozen=True):
    """The receiver certainly did not get the notice."""

    code: str
    permanent: bool = False
    """Whether a retry would fail again."""
    retry_after_s: float | None = None
    """The pause in seconds that the receiver demands before a retry."""


class Uncertain(msgspec.Struct, frozen=True):
    """The receiver may have the notice: the request was sent, but no answer came."""

    code: str


Outcome = Delivered | Failed | Uncertain


class Receiver(Protocol):
    """A destination of notices. `send` returns an outcome; an exception is a defect, and counts as `Uncertain`."""

    name: str
    pace_s: float
    """Minimum pause between two notices, in seconds."""
    folds: bool
    """Whether warnings of one kind are sent as one message. False for programs, which handle each alert by itself."""

    def running(self) -> AbstractAsyncContextManager[object]: ...

    async def send(self, notice: Notice, *, repeat: bool) -> Outcome:
        """Send the notice. `repeat`: an earlier try may have arrived, so it may be a duplicate."""
