"""Formats what the platform answers for a terminal: tables, times, short ids, the colours of states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from drover.cli.output import printable

NOTHING: Final = "–"
ID_CHARS_MIN: Final = 13
"""The length of a short id: `0199a1b2-4c3d`. Ids begin with the time in milliseconds, which is this long."""
UNTITLED: Final = "untitled"

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_COLOURS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("active", "running", "busy", "rendering", "encoding", "uploading", "preparing"), "cyan"),
    **dict.fromkeys(("processing", "in_hand", "sent", "offered"), "cyan"),
    **dict.fromkeys(("completed", "online", "resolved", "finished", "idle"), "green"),
    **dict.fromkeys(("paused", "retrying", "due", "held", "expired", "deactivated"), "yellow"),
    **dict.fromkeys(("failed", "error", "gone", "open"), "red"),
    **dict.fromkeys(("cancelled", "offline"), "dim"),
}

Cell = str | Text | None


def table(columns: Sequence[str], lines: Iterable[Sequence[Cell]], *, numbers: Sequence[str] = ()) -> Table:
    """Make a table. A heading that ends in `*` marks the column that is cut if the terminal is too narrow; `numbers`
    are aligned to the right."""
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        justify: Any = "right" if name in numbers else "left"
        made.add_column(name.rstrip("*"), no_wrap=not name.endswith("*"), justify=justify)
    for line in lines:
        made.add_row(*(_cell(cell) for cell in line))
    return made


def _cell(cell: Cell) -> Text:
    """Keep a cell on one line. A text that is too long ends in `…`."""
    text = cell if isinstance(cell, Text) else Text(printable(cell) if cell else NOTHING)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def pairs(*known: tuple[str, Cell]) -> Table:
    """Make a list of names and values. Long values are continued on the next line."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in known:
        made.add_row(f"  {name}", value if isinstance(value, Text) else Text(printable(value) if value else NOTHING))
    return made


def section(title: str, content: RenderableType) -> RenderableType:
    return Group(Text(f"\n{title}", "bold"), content)


def heading(kind: str, name: str, state: str) -> Text:
    made = Text.assemble((f"{kind} ", "dim"), (printable(name), "bold"))
    return Text.assemble(made, "  ", status(state)) if state else made


def status(word: str | None) -> Text:
    return Text(printable((word or NOTHING).replace("_", " ")), _COLOURS.get(word or "", ""))


def number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def count(value: int, noun: str) -> str:
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Shorten ids so that they still differ from each other."""
    known = sorted(set(ids))
    return {id_: _short(id_, around) for id_, around in zip(known, _neighbours(known), strict=True)}


def _short(id_: str, around: Sequence[str]) -> str:
    needed = max((_common(id_, other) + 1 for other in around), default=0)
    return id_[: max(needed, ID_CHARS_MIN)].rstrip("-")


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _neighbours(known: Sequence[str]) -> Iterator[Sequence[str]]:
    for place in range(len(known)):
        yield [*known[max(place - 1, 0) : place], *known[place + 1 : place + 2]]


def short_id(id_: str) -> str:
    return _short(id_, ())


def moment_of(text: str | None) -> datetime | None:
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def ago(text: str | None, now: datetime) -> str:
    """Format how long ago a time is, or in how long it will be: `3 min ago`, `in 2 h`."""
    at = moment_of(text)
    if at is None:
        return NOTHING
    seconds = (now - at).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"in {_span(-seconds)}" if seconds < 0 else f"{_span(seconds)} ago"


def span(seconds: float | None) -> str:
    return NOTHING if seconds is None else _span(seconds)


def _span(seconds: float) -> str:
    whole = round(seconds)
    size, unit = next((known for known in _UNITS if whole >= known[0]), _UNITS[-1])
    return f"{whole // size} {unit}"


def when(text: str | None, now: datetime) -> str:
    """Format a time as the clock of this machine shows it, and how long ago it is."""
    at = moment_of(text)
    if at is None:
        return NOTHING
    shown = at.astimezone().isoformat(sep=" ", timespec="seconds")[: len("2026-01-31 08:00:00")]
    return f"{shown} ({ago(text, now)})"


def now() -> datetime:
    return datetime.now(UTC)
