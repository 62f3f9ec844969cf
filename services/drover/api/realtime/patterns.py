"""Patterns of LIKE: `%` stands for any text, `_` for one character, `\\` makes the next character plain. Pure.

Clients choose the pattern, and a regular expression with several `.*` could take very long. So each part between two
`%` is a regular expression without repetitions, and the parts are searched from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec


class _Part(msgspec.Struct, frozen=True):
    """The part of a pattern between two `%`."""

    expression: re.Pattern[str]
    chars: int


class Pattern(msgspec.Struct, frozen=True):
    parts: tuple[_Part, ...]

    def matches(self, value: str) -> bool:
        first, last = self.parts[0], self.parts[-1]
        if len(self.parts) == 1:
            return first.expression.fullmatch(value) is not None
        at, end = first.chars, len(value) - last.chars
        if end < at or not first.expression.match(value) or not last.expression.match(value, end):
            return False
        for part in self.parts[1:-1]:  # the earliest match leaves the most room for the next part
            if (found := part.expression.search(value, at, end)) is None:
                return False
            at = found.end()
        return True


def parse_pattern(text: str, *, ignores_case: bool) -> Pattern:
    flags = re.DOTALL | (re.IGNORECASE if ignores_case else 0)
    parts: list[list[str]] = [[]]
    for one in _tokens(text):
        if one == "%":
            parts.append([])
        else:
            parts[-1].append("." if one == "_" else re.escape(one[-1]))
    return Pattern(tuple(_Part(re.compile("".join(part), flags), len(part)) for part in parts))


def _tokens(text: str) -> Iterator[str]:
    """Split into characters. A backslash and the character after it stay together."""
    characters = iter(text)
    for one in characters:
        yield one + next(characters, "") if one == "\\" else one
