"""Parses the Range header with one range, as players send it. A request for several ranges gets the whole file."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class Span(NamedTuple):
    start: int
    end: int
    """The end of the range, exclusive."""

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


class Unsatisfiable(Exception):
    """The range begins after the end of the file."""


def wanted(header: str | None, size_bytes: int) -> Span | None:
    """Parse the requested range of bytes. None: the whole file, also for an invalid header, which RFC 9110 says to
    ignore."""
    found = None if header is None else _RANGE.fullmatch(header.strip())
    if found is None or found.group(0) == "bytes=-":
        return None
    first, last = found.groups()
    if first == "":  # a suffix range: the last n bytes
        if int(last) == 0 or size_bytes == 0:
            raise Unsatisfiable
        return Span(max(0, size_bytes - int(last)), size_bytes)
    start = int(first)
    if last != "" and int(last) < start:
        return None
    if start >= size_bytes:
        raise Unsatisfiable
    return Span(start, size_bytes if last == "" else min(int(last) + 1, size_bytes))
