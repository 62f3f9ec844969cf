"""Rewrites sentences of the platform for people at this machine: names instead of ids, and local times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from drover.cli.operations.formatting import ago, moment_of

UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def ids_in(*texts: str) -> set[str]:
    return {id_ for text in texts for id_ in UUID.findall(text)}


def named(text: str, names: Mapping[str, str]) -> str:
    return UUID.sub(lambda found: names.get(found[0], found[0]), text)


def at_local_times(text: str, now: datetime) -> str:
    """Replace times in UTC by `12:00:05 (3 min ago)`, with the date if it is another day."""
    return _MOMENT.sub(lambda found: _local(found[0], now), text)


def _local(text: str, now: datetime) -> str:
    at = moment_of(text)
    assert at is not None
    here = at.astimezone()
    shown = f"{here:%H:%M:%S}" if here.date() == now.astimezone().date() else f"{here:%Y-%m-%d %H:%M:%S}"
    return f"{shown} ({ago(text, now)})"
