"""`drover events import`: restores a whole log from the file of `drover events export` into an empty log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import zstandard
from rich.text import Text as Said

from drover.archive.chain import Chain
from drover.archive.errors import ChainBroken, FileDamaged, NotWhole, TextDamaged
from drover.archive.in_thread import in_thread
from drover.archive.segment import text_lines
from drover.archive.text import Head, Placed, Text
from drover.cli.archive_target import Whole, place_of
from drover.cli.bar import bar
from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.running import asynchronous


@asynchronous
async def import_(file: Path, check: bool, forget: bool, as_json: bool, data_dir: Path | None) -> Exit:
    exported = await asyncio.to_thread(checked, file)
    context, last = exported.head.context, exported.last
    if check:
        said = f"{file} is complete: {context} up to commit {last}, {exported.events:,} events."
        if as_json:
            print_json({"context": context, "last": last, "events": exported.events})
        else:
            console().print(said)
        return Exit.OK
    whole = Whole(context, exported.head.partitions, exported)
    async with place_of(data_dir, forget=forget) as place:
        await place.look(whole, forget=forget)
        with bar(f"import {context}", unit="commits", quiet=as_json) as tell:
            restored = await place.put(whole, tell, forget=forget)
    if as_json:
        print_json(restored)
    else:
        said = f"{restored.context}: {restored.events:,} events restored, up to commit {restored.last}."
        console().print(Said(said, "green"))
    return Exit.OK


class Exported:
    """A checked file, as the source of a restore."""

    first = 1

    def __init__(self, file: Path, head: Head, last: int, events: int) -> None:
        self.head = head
        self.last = last
        self.events = events
        self._file = file

    def commits(self, after: int) -> AsyncGenerator[Placed, None]:
        return in_thread(self._commits(after))

    async def previous(self, seq: int) -> dict[str, int]:
        return await asyncio.to_thread(self._previous, seq)

    def _previous(self, seq: int) -> dict[str, int]:
        found: dict[str, int] = {}
        for placed in self._commits(0):
            if placed.commit.seq > seq:
                break
            found[placed.partition] = placed.commit.seq
        return found

    def _commits(self, after: int) -> Generator[Placed, None, None]:
        with self._file.open("rb") as opened:
            for placed in Text(text_lines(opened)).commits():
                if placed.commit.seq > after:
                    yield placed


def checked(file: Path) -> Exported:
    """Read and check the whole file. Raises FileDamaged, or NotWhole if it is not a whole log."""
    chain = Chain()
    head: Head | None = None
    try:
        with file.open("rb") as opened:
            text = Text(text_lines(opened))
            head = text.head
            if head.after != 0:
                raise NotWhole(file, f"it begins after commit {head.after}")
            for placed in text.commits():
                chain.take(placed.partition, placed.commit)
    except TextDamaged as error:
        if head is None:
            raise NotWhole(file, str(error)) from error
        raise FileDamaged(file, str(error), "Nothing was written.") from error
    except (ChainBroken, zstandard.ZstdError, OSError) as error:
        raise FileDamaged(file, str(error), "Nothing was written.") from error
    return Exported(file, head, chain.seq, chain.events)
