"""Makes texts from outside safe for events: bounded in size, without control characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MESSAGE_BYTES_MAX: Final = 6000
UNMAPPED_MAX: Final = 200
UNMAPPED_BYTES_MAX: Final = 250
"""The maximum size of the name of an unmapped field; longer names are cut. So the event with all names stays within its
size limit, even if JSON needs two bytes for each byte of a name."""


def shown(text: str, bytes_max: int = MESSAGE_BYTES_MAX) -> str:
    """Cut the text to `bytes_max`, and replace control characters by spaces: each takes six bytes in JSON, and Postgres
    refuses NUL."""
    plain = "".join(char if char >= " " or char in "\t\n\r" else " " for char in text[:bytes_max])
    return plain.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")


def listed(texts: Sequence[str]) -> list[str]:
    """Return as many of the texts as fit into an event. If some are left out, the last text tells how many."""
    if len(texts) > UNMAPPED_MAX:
        few = UNMAPPED_MAX - 1
        return [*listed(texts[:few]), f"… and {len(texts) - few} more"]
    return [shown(text, UNMAPPED_BYTES_MAX) for text in texts]
