"""`drover events import`: restores a whole log from the file of `drover events export` into an empty log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import zstandard
from rich.text import Text as Said

from drover.archive.chain import Chain
from drover.archive.errors import ChainBroken, FileDamaged, NotWhole, TextDamaged
from drover.archive.segment import text_lines
from drover.archive.text import Head, Placed, Text
from drover.cli.archive_target import Whole, place_of
from drover.cli.bar import bar
from drover.cli.exits import Exit
from drover.cli.output import console, print_json
from drover.cli.running import asynchronous


@asynchronous
async def import_(file: Path, check: bool, forget: bool, as_json: bool, data_dir: Path | None) -> Exit:
    with bar(f"check {file.name}", quiet=as_json) as tell:
        whole = checked(file, tell)
    if check:
        said = f"{file} is complete: {whole.context} up to commit {whole.last}, {whole.events:,} events."
        if as_json:
            print_json({"context": whole.context, "last": whole.last, "events": whole.events})
        else:
            console().print(said)
        return Exit.OK
    async with place_of(data_dir, forget=forget) as place:
        await place.look(whole, forget=forget)
        with bar(f"import {whole.context}", quiet=as_json) as tell:
            restored = await place.put(whole, tell, forget=forget)
    if as_json:
        print_json(restored)
    else:
        said = f"{restored.context}: {restored.events:,} events restored, up to commit {restored.last}."
        console().print(Said(said, "green"))
    return Exit.OK


def checked(file: Path, tell: object = None) -> Whole:
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

    def commits(after: int) -> Iterator[Placed]:
        with file.open("rb") as opened:
            for placed in Text(text_lines(opened)).commits():
                if placed.commit.seq > after:
                    yield placed

    return Whole(head.context, head.partitions, commits, chain.seq, chain.events)
