"""Partitions of a context: their names, and which partition gets the commands about a key, such as a user's id."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

MAIN: Final = "main"
"""The only partition of a context that is not divided."""
PARTITIONS_MAX: Final = 64


def partition_names(count: int) -> tuple[str, ...]:
    """Return the names of this many partitions. The number is fixed when a context's log is created: another number
    would send keys to other partitions."""
    assert 1 <= count <= PARTITIONS_MAX, count
    return (MAIN,) if count == 1 else tuple(f"p{number}" for number in range(count))


def partition_of(key: str, names: Sequence[str]) -> str:
    """Return the partition that holds all data of this key. The result is the same in every process, version and
    machine."""
    digest = blake2b(key.encode(), digest_size=8).digest()
    return names[int.from_bytes(digest) % len(names)]
