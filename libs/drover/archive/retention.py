"""The setting DROVER_LOG_KEEP: how much of the log stays in NATS."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

import msgspec

_FORM: Final = re.compile(r"([0-9]+)([hdw]|[MGT]B)")
_SPANS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SIZES: Final = {"MB": 10**6, "GB": 10**9, "TB": 10**12}


class Keep(msgspec.Struct, frozen=True):
    """How much of a context's log stays in NATS. If neither limit is set, all of it."""

    span: timedelta | None = None
    """Commits younger than this stay. None: no such limit."""
    bytes: int | None = None
    """As many of the newest commits stay as fit into this many bytes. None: no such limit."""

    @property
    def all(self) -> bool:
        return self.span is None and self.bytes is None


def parse_keep(text: str) -> Keep:
    """Read a valid setting: `all`, a time such as `30d`, or a size such as `200GB`."""
    found = _FORM.fullmatch(text)
    if found is None:
        return Keep()
    number, unit = int(found[1]), found[2]
    return Keep(span=number * _SPANS[unit]) if unit in _SPANS else Keep(bytes=number * _SIZES[unit])


def beyond_size(*, bytes_max: int, size: int, messages: int, last: int) -> int:
    """Return the sequence below which commits no longer fit into `bytes_max`, assuming that all commits have the same
    size. 0: all fit. `size`, `messages`, `last`: bytes, number of messages and last sequence of the stream.

    It counts backwards from the end, because the oldest sequences have gaps: an idle partition keeps its last commit,
    while the commits of other partitions around it are purged.
    """
    if size <= bytes_max or not messages:
        return 0
    return last + 1 - messages * bytes_max // size
