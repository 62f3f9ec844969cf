"""Formats reasons: each as a sentence for people and as data for programs. The other modules of this package find
them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec


class Reason(msgspec.Struct, frozen=True):
    sentence: str
    data: dict[str, Any]
    """The same reason for programs: a `code`, and the ids and values that it is about. Times are RFC 3339, UTC."""


def reason(code: str, sentence: str, **data: Any) -> Reason:
    shown = {name: rfc3339(value) if isinstance(value, datetime) else value for name, value in data.items()}
    return Reason(sentence, {"code": code, **shown})


def rfc3339(at: datetime, timespec: str = "auto") -> str:
    return at.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def moment(at: datetime | None) -> str:
    """Format a time for a sentence, without microseconds."""
    return "an unknown time" if at is None else rfc3339(at, "seconds")


def due(at: datetime | None, now: datetime) -> str:
    """Format when something will happen, for a sentence. A tick may make it happen a moment later."""
    if at is None:
        return "as soon as its device is back"
    return f"at {moment(at)}" if at > now else f"now ({moment(at)} has passed)"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
