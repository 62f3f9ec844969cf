"""Reads simple query parameters strictly. The lists of `/api` have their own typed parameters
(`api/reads/parameters`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from drover.web.errors import invalid

SHOWN_CHARS_MAX: Final = 64
_DIGITS_MAX: Final = 9


def refuse_unknown(query: Mapping[str, Any], known: Collection[str]) -> None:
    for name in query:
        if name not in known:
            shown = name[:SHOWN_CHARS_MAX]
            raise invalid(f"{shown} is not a known parameter", field=shown)


def read_number(query: Mapping[str, Any], name: str, *, default: int, least: int, most: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX and least <= int(text) <= most):
        raise invalid(f"{name} must be a number from {least} to {most}", field=name, value=text[:SHOWN_CHARS_MAX])
    return int(text)
