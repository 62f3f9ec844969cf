"""What is told of an alert, whoever is told; and what a receiver can say about it."""

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
    """One of the two things that there are to say of an alert."""

    context: str
    alert_id: str
    phase: Phase
    kind: str
    subject: str
    at: datetime
    """When it was raised, or was over."""
    message: str = ""
    details: dict[str, Any] = {}
    until: datetime | None = None
    reason: str = ""
    """Why it is over."""
    raised_at: datetime | None = None
    """Of one that is over: when it was raised."""

    @property
    def key(self) -> str:
        """However often it is tried, the same: receivers know a repeat by it."""
        return f"{self.alert}.{self.phase}"

    @property
    def alert(self) -> str:
        """One word for each part: it becomes a key of a bucket."""
        id_ = self.alert_id
        return f"{self.context}.{id_ if _TOKEN.fullmatch(id_) else sha256(id_.encode()).hexdigest()[:32]}"

    @property
    def severity(self) -> str:
        return severity_of(self.kind)


class Delivered(msgspec.Struct, frozen=True):
    """The receiver has it, and said so."""


class Failed(msgspec.Struct, frozen=True):
    """It has not got it, for certain."""

    code: str
    permanent: bool = False
    """The same again would fail again."""
    retry_after_s: float | None = None
    """How long it asks to be left alone."""


class Uncertain(msgspec.Struct, frozen=True):
    """It may have it: the request left, and no answer came."""

    code: str


Outcome = Delivered | Failed | Uncertain


class Receiver(Protocol):
    """Where notices go. Must say what it knows, and raise only by mistake: that counts as uncertain."""

    name: str
    pace_s: float
    """At least so long from one notice to the next."""

    def running(self) -> AbstractAsyncContextManager[object]: ...

    async def send(self, notice: Notice, *, repeat: bool) -> Outcome:
        """`repeat`: an earlier try may have arrived."""
