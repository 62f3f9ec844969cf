"""Texts from outside, made safe for events: bounded in size, without control characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MESSAGE_BYTES_MAX: Final = 6000
UNMAPPED_MAX: Final = 200
UNMAPPED_BYTES_MAX: Final = 250
"""Maximum size of the name of an unmapped field. Even if every byte takes two on the wire, all names fit into one
decision."""


def shown(text: str, bytes_max: int = MESSAGE_BYTES_MAX) -> str:
    """Control characters become spaces: each takes six bytes on the wire, and Postgres refuses NUL."""
    plain = "".join(char if char >= " " or char in "\t\n\r" else " " for char in text[:bytes_max])
    return plain.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")


def listed(texts: Sequence[str]) -> list[str]:
    """As many texts as fit into an event; the last one gives the number of the others."""
    if len(texts) > UNMAPPED_MAX:
        few = UNMAPPED_MAX - 1
        return [*listed(texts[:few]), f"… and {len(texts) - few} more"]
    return [shown(text, UNMAPPED_BYTES_MAX) for text in texts]
