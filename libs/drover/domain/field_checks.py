"""Checks of single fields: patterns, ranges, and how a refusal names the field and its value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drover.domain.decider import Rejection
from drover.domain.errors import Code

SHOWN_CHARS_MAX: Final = 200
"""The maximum number of characters of a value that a refusal repeats; the rest is cut."""


def invalid(field: str, value: object, message: str, rule: str | None = None) -> Rejection:
    details = {"field": field, "value": value}
    if rule is not None:
        details["rule"] = rule
    return Rejection(Code.VALIDATION_ERROR, message, details)


class TextPatterns:
    """The patterns of text fields, by the name of the field. A name means the same in every command of a context."""

    def __init__(
        self,
        *,
        shown_chars_max: int | None = SHOWN_CHARS_MAX,
        in_words: Mapping[str, str] = MappingProxyType({}),
        **patterns: str,
    ) -> None:
        """`in_words`: what a field must be, for people; refusals of other fields show the pattern."""
        self._shown_chars_max = shown_chars_max
        self._in_words = in_words
        self._patterns = {field: re.compile(pattern) for field, pattern in patterns.items()}

    def __getitem__(self, field: str) -> re.Pattern[str]:
        return self._patterns[field]

    def check(self, **fields: str | None) -> Rejection | None:
        """Check the fields against their patterns. A value of None means that the field was not given."""
        for field, value in fields.items():
            # fullmatch, because `$` alone accepts a trailing line feed.
            if value is not None and not (pattern := self._patterns[field]).fullmatch(value):
                must = f"be {self._in_words[field]}" if field in self._in_words else f"match {pattern.pattern}"
                return invalid(field, value[: self._shown_chars_max], f"{field} must {must}")
        return None


def check_range(low: int, high: int, **fields: int | None) -> Rejection | None:
    """Check that the fields are within these bounds. A value of None means that the field was not given."""
    for field, value in fields.items():
        if value is not None and not low <= value <= high:
            return invalid(field, value, f"{field} must be between {low} and {high}")
    return None
