"""JSON values as YAML, in the plain form that people compare line by line. Only as much of YAML as that takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

_PLAIN: Final = re.compile(r"[A-Za-z/$][A-Za-z0-9_./{}$-]*")
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""What YAML takes for something else than text."""


def to_yaml(value: Any) -> str:
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", item, indent)
    elif isinstance(value, list | tuple) and value:
        for item in value:
            yield from _entry(f"{indent}-", item, indent)
    else:
        yield indent + _scalar(value)


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, dict | list | tuple) and item:
        inner = _lines(item, indent + "  ")
        if head.endswith("-"):  # the first line of an item stands beside its dash
            yield f"{head} {next(inner).lstrip()}"
        else:
            yield head
        yield from inner
    else:
        yield f"{head} {_scalar(item)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return msgspec.json.encode(value).decode()
