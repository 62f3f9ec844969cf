"""A NATS client that parses headers quickly. nats-py checks each character of every header name, which takes a third of
the time of reading a log."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from nats.aio.client import Client

NAMES_MAX: Final = 1024
"""How many header names are cached. The cache is bounded, because anybody may send any name."""


@lru_cache(maxsize=NAMES_MAX)
def _name_of(raw: bytes) -> str | None:
    """Return a header's name. None if it is not ASCII or contains white space: nats-py refuses such names, too."""
    try:
        name = raw.strip().decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if any(letter.isspace() for letter in name) else name


class QuickClient(Client):
    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        """Parse headers as the method of nats-py does, but check each name only the first time that it occurs."""
        found: dict[str, str] = {}
        for line in raw.split(b"\r\n"):
            before, colon, value = line.partition(b":")
            if colon and (name := _name_of(before)) is not None:
                found[name] = value.strip().decode("utf-8", "replace")
        return found
