"""Sizes as people write them in settings: `200GB`."""

from __future__ import annotations

from typing import Final

_UNITS: Final = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
PATTERN: Final = rf"^[1-9][0-9]{{0,11}}({'|'.join(_UNITS)})\Z"


def parse_size(text: str) -> int:
    """Return the bytes of a text that matches PATTERN."""
    return int(text[:-2]) * _UNITS[text[-2:]]
