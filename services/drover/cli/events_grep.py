"""`drover events grep`: prints all events of a log or an archive that match, oldest first."""

from __future__ import annotations

import re
from contextlib import aclosing
from pathlib import Path

import msgspec

from drover.cli.events import Display, display_as
from drover.cli.events_cloud import cloud_event
from drover.cli.events_source import Source, matching_in, opened
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import print_lines
from drover.cli.running import asynchronous
from drover.cli.wanted import Wanted


@asynchronous
async def grep(
    pattern: re.Pattern[str] | None,
    context: str,
    partition: str | None,
    wanted: Wanted,
    limit: int | None,
    cloudevents: bool,
    archive_address: str | None,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    wanted = msgspec.structs.replace(wanted, pattern=pattern)
    search = Search(limit)
    async with opened(data_dir, archive_address, context, partition) as source:
        display = None if cloudevents else display_as(as_json)
        await while_somebody_reads(search.run(source, wanted, display))
    return Exit.OK if search.found else Exit.NOT_FOUND


class Search:
    def __init__(self, limit: int | None) -> None:
        self.found = 0
        self._limit = limit

    async def run(self, source: Source, wanted: Wanted, display: Display | None) -> None:
        """Search and print. `display`: how to print an event; None for CloudEvents."""
        async with aclosing(matching_in(source, wanted, self._limit)) as commits:
            async for placed, matching in commits:
                self.found += len(matching)
                if display is not None:
                    display(matching)
                else:
                    print_lines(cloud_event(source.context, placed, record) for record in matching)
