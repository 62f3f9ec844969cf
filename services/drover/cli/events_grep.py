"""`drover events grep`: all events of a log or an archive that match, oldest first."""

from __future__ import annotations

import re
from contextlib import aclosing
from pathlib import Path

import msgspec

from drover.cli.events import Display, display_as
from drover.cli.events_cloud import cloud_event
from drover.cli.events_source import Source, found_in, opened
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import print_lines
from drover.cli.record import records
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
    archive_dir: Path | None,
    as_json: bool,
    data_dir: Path | None,
) -> Exit:
    wanted = msgspec.structs.replace(wanted, pattern=pattern)
    search = Search(limit)
    async with opened(data_dir, archive_dir, context, partition) as source:
        display = None if cloudevents else display_as(as_json)
        await while_somebody_reads(search.run(source, wanted, display))
    return Exit.OK if search.found else Exit.NOT_FOUND


class Search:
    def __init__(self, limit: int | None) -> None:
        self.found = 0
        self._limit = limit

    async def run(self, source: Source, wanted: Wanted, display: Display | None) -> None:
        """`display`: None for CloudEvents."""
        async with aclosing(found_in(source, wanted)) as commits:
            async for placed in commits:
                matching = [record for record in records(placed.commit) if wanted(record)]
                if self._limit is not None:
                    matching = matching[: self._limit - self.found]
                if display is not None:
                    display(matching)
                else:
                    place = (source.context, placed.partition, placed.commit.id)
                    print_lines(cloud_event(*place, record) for record in matching)
                self.found += len(matching)
                if self.found == self._limit:
                    return
