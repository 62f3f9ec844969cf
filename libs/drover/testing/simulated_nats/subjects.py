"""Matches subjects with patterns: `*` stands for one token, `>` for all that follow."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

CACHED_MAX: Final = 100_000


@lru_cache(maxsize=CACHED_MAX)
def matches(pattern: str, subject: str) -> bool:
    wanted, found = pattern.split("."), subject.split(".")
    for index, part in enumerate(wanted):
        if part == ">":
            return len(found) > index
        if index >= len(found) or part not in ("*", found[index]):
            return False
    return len(wanted) == len(found)


def overlap(one: str, other: str) -> bool:
    """Whether some subject matches both patterns."""
    for left, right in zip(one.split("."), other.split("."), strict=False):
        if ">" in (left, right):
            return True
        if left != right and "*" not in (left, right):
            return False
    return one.count(".") == other.count(".")
