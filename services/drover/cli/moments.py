"""Parses times on a command line: `10m` (ten minutes ago, or from now), or a time as in RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")
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


class ComingMoment(click.ParamType[datetime]):
    """The type of an option that is a time in the future: `10m` (in ten minutes), or as in RFC 3339. Without an offset,
    the time is in the time zone of this machine."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        now = datetime.now(UTC)
        try:
            at = coming_moment(str(value), now)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time. Write in how long (10m, 2h, 7d) or 2026-01-31T08:00.", param, ctx)
        if at <= now:
            self.fail(f"{value!r} has passed. Write in how long (10m, 2h, 7d), or a time to come.", param, ctx)
        return at


def moment(text: str, now: datetime) -> datetime:
    """Parse a time. A span is how long ago. Raises ValueError or OverflowError for an invalid text."""
    span = _span(text)
    return _written(text) if span is None else now - span


def coming_moment(text: str, now: datetime) -> datetime:
    """Parse a time. A span counts from now on. Raises ValueError or OverflowError for an invalid text."""
    span = _span(text)
    return _written(text) if span is None else now + span


def _span(text: str) -> timedelta | None:
    found = _SPAN.fullmatch(text.strip())
    return None if found is None else timedelta(**{_UNITS[found[2]]: float(found[1])})


def _written(text: str) -> datetime:
    return datetime.fromisoformat(text.strip()).astimezone(UTC)
