"""Finds out when a commit was stored: the server's time, or, for a restored commit, its original time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

STORED_HEADER: Final = "Drover-Stored"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT_TOKENS: Final = 9
"""How many parts the reply subject of a delivered message has at least. Newer servers add domain and account."""
_TIME_IN_SHORT: Final = 7
_TIME_IN_LONG: Final = 9


def stored_at(headers: Mapping[str, str], by_server: datetime) -> datetime:
    first = headers.get(STORED_HEADER)
    return by_server if first is None else datetime.fromisoformat(first)


def delivered_at(reply: str) -> datetime:
    """Return when the server stored a message. A consumer's message has this time in its reply subject, in nanoseconds.

    It is rounded as msgspec rounds the time of a message that was read on its own, so that a commit has the same time
    both ways. nats-py converts to a float, which changes one time in twelve by a microsecond.
    """
    tokens = reply.split(".")
    nanoseconds = int(tokens[_TIME_IN_SHORT if len(tokens) == _SHORT_TOKENS else _TIME_IN_LONG])
    return _EPOCH + timedelta(microseconds=(nanoseconds + 500) // 1000)
