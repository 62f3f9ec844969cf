"""Parses times on a command line: `10m` (ten minutes ago), or a time as in RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Moment(click.ParamType[datetime]):
    """The type of an option that is a time: `10m` (ten minutes ago), or as in RFC 3339. Without an offset, the time is
    in the time zone of this machine."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return moment(str(value), datetime.now(UTC))
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is not a time. Write how long ago (30s, 10m, 2h, 7d) or 2026-01-31T08:00.", param, ctx
            )


def moment(text: str, now: datetime) -> datetime:
    """Parse a time. Raises ValueError or OverflowError for an invalid text."""
    if (ago := _AGO.fullmatch(text.strip())) is not None:
        return now - timedelta(**{_UNITS[ago[2]]: float(ago[1])})
    return datetime.fromisoformat(text.strip()).astimezone(UTC)
