"""Formats events as text for people: one line each, or one event in full."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from drover.cli.output import printable
from drover.cli.record import Record
from drover.eventlog.log import StoredCommit

N_WIDTH: Final = 7
TYPE_WIDTH: Final = 18
BY_WIDTH: Final = 12
_PLAIN: Final = re.compile(r"[\w.:@/+-]+")
_COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_cyan", "bright_green", "bright_magenta")


def event_line(record: Record) -> Text:
    """Format an event as one line: local time, ordinal, type, actor, then the event's own fields."""
    envelope = record.envelope
    line = Text(no_wrap=True)
    line.append(local(envelope.at), style="dim")
    line.append(f" {envelope.n:>{N_WIDTH}} ", style="bold")
    line.append(f" {printable(envelope.type):<{TYPE_WIDTH}}", style=_colour(envelope.type))
    line.append(f"  {printable(envelope.by):<{BY_WIDTH}}", style="dim")
    for name, value in record.own.items():
        line.append(f"  {printable(name)}=", style="dim")
        line.append(compact(value))
    return line


def compact(value: Any) -> str:
    """Format a value as short as possible without ambiguity, with quotes only where needed."""
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return printable(msgspec.json.encode(value).decode())


def local(at: datetime) -> str:
    return at.astimezone().isoformat(sep=" ", timespec="milliseconds")[: len("2026-01-31 08:00:00.000")]


def _colour(type_: str) -> str:
    """Return the colour of an event type, which is the same in every run. (Python's `hash` changes from run to run.)"""
    return _COLOURS[sum(type_.encode()) % len(_COLOURS)]


def event_whole(record: Record, commit: StoredCommit, events: int) -> RenderableType:
    """Format one event in full, with its commit. `events`: how many events the commit has."""
    envelope = record.envelope
    title = Text.assemble((f"{envelope.n}  ", "bold"), (printable(envelope.type), f"bold {_colour(envelope.type)}"))
    parts: list[RenderableType] = [
        title,
        _pairs(
            ("at", f"{local(envelope.at)} local, {envelope.at.isoformat()}"),
            ("by", printable(envelope.by)),
            ("cause", printable(envelope.cause) or "–"),
            ("trace", printable(envelope.trace or "") or "–"),
        ),
    ]
    if own := record.own:
        parts += [Text("\nFields", "bold"), _pairs(*((printable(name), compact(value)) for name, value in own.items()))]
    parts += [
        Text("\nCommit", "bold"),
        _pairs(
            ("place", f"{record.place} (sequence {commit.seq}, line {record.line} counted from 0)"),
            ("events", str(events)),
            ("id", printable(commit.id)),
            ("epoch", str(commit.epoch)),
            ("stored", f"{local(commit.stored_at)} local, {commit.stored_at.isoformat()}"),
        ),
    ]
    return Group(*parts)


def _pairs(*pairs: tuple[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(f"  {name}", Text(value))
    return table
