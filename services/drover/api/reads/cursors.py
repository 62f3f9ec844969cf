"""Cursors of lists: the sort key of a page's last row, encoded as a text that clients send back unchanged."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from drover.web.errors import ApiError, invalid


def write_cursor(listing: str, key: Sequence[Any]) -> str:
    return urlsafe_b64encode(msgspec.json.encode([listing, *key])).decode().rstrip("=")


def read_cursor(listing: str, text: str, types: Sequence[Any]) -> list[Any]:
    """Decode the sort key, with values of exactly these types. Raises 400 for an invalid cursor, or one of another
    list."""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        name, *values = msgspec.json.decode(raw, type=list[Any])
        if name != listing:
            raise _no_cursor(text)
        return [msgspec.convert(value, type_) for value, type_ in zip(values, types, strict=True)]
    except (ValueError, msgspec.DecodeError, RecursionError):  # a ValidationError is a DecodeError
        raise _no_cursor(text) from None


def _no_cursor(text: str) -> ApiError:
    message = "cursor: it must be `next` of a page of this list"
    return invalid(message, field="cursor", value=text[:64].encode("utf-8", "replace").decode())
