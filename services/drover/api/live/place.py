"""The position of an event in the log, and the ids of stream events: `fleet=12.3` is line 3 (counted from 0) of commit
12."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

ID_CHARS_MAX: Final = 512
SEQ_MAX: Final = 2**63 - 1


class Place(NamedTuple):
    seq: int
    line: int


START: Final = Place(0, 0)
"""The position before the first event: sequences begin with 1."""

# ASCII digits, not \d: int() would also accept full-width digits.
_ENTRY: Final = re.compile(r"([a-z][a-z0-9_]{0,31})=([0-9]{1,19})\.([0-9]{1,6})")


def format_id(places: Mapping[str, Place]) -> str:
    """Format the id of a stream event. It contains the positions of all contexts, because SSE resumes from a single
    id."""
    return ",".join(f"{context}={place.seq}.{place.line}" for context, place in places.items())


def format_position(places: Mapping[str, Place]) -> str:
    """Format positions for the header `Drover-Min-Position`. They name whole commits, because read models apply commits
    whole."""
    return ",".join(f"{context}={place.seq}" for context, place in places.items())


def parse_id(text: str) -> dict[str, Place]:
    """Parse the id of a stream event. Raises ValueError with a message for people."""
    if len(text) > ID_CHARS_MAX:
        raise ValueError(f"longer than {ID_CHARS_MAX} characters")
    places: dict[str, Place] = {}
    for entry in text.split(","):
        if (match := _ENTRY.fullmatch(entry.strip())) is None:
            raise ValueError(f"{entry.strip()!r} is not of the form context=sequence.line")
        place = Place(int(match[2]), int(match[3]))
        if place.seq > SEQ_MAX:
            raise ValueError(f"{place.seq} is not a sequence number")
        if match[1] in places:
            raise ValueError(f"{match[1]} appears twice")
        places[match[1]] = place
    return places
