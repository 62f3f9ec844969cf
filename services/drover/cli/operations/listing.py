"""Lists of `/api`, as tables for people or as JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row
from drover.cli.operations.watching import show

LIMIT_HINT: Final = "Only the first {shown}: --limit shows more."


class Listing(msgspec.Struct, frozen=True):
    """A list that can be asked for."""

    path: str
    noun: str
    """What is listed, in the plural."""
    view: Callable[[list[Row]], RenderableType]
    hint: str = ""
    """What to do if there is nothing at all."""


async def show_list(
    client: Client, listing: Listing, query: Mapping[str, Any], *, limit: int, as_json: bool, watch: bool = False
) -> Exit:
    more = False

    async def read() -> list[Row]:
        nonlocal more
        rows, more = await client.listed(listing.path, limit, **query)
        return rows

    def view(rows: list[Row]) -> RenderableType:
        if not rows:
            asked = any(value not in (None, ()) for value in query.values())
            return Text(
                f"No {listing.noun} match." if asked else f"No {listing.noun} yet. {listing.hint}".strip(), "dim"
            )
        shown = listing.view(rows)
        return Group(shown, Text(LIMIT_HINT.format(shown=len(rows)), "dim")) if more else shown

    return await show(read, view, as_json=as_json, watch=watch)
