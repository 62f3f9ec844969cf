"""`drover events grep`: every event that matches, from the first to the last, of a log or of an archive."""

from __future__ import annotations

import re
from contextlib import aclosing
from pathlib import Path

import click
import msgspec

from drover.cli.events import Display, display_as
from drover.cli.events_cloud import cloud_event
from drover.cli.events_options import (
    Pattern,
    archive_option,
    context_option,
    filter_options,
    limit_option,
    partition_option,
)
from drover.cli.events_source import Source, found_in, opened
from drover.cli.exits import Exit
from drover.cli.following import while_somebody_reads
from drover.cli.output import json_option, print_lines
from drover.cli.record import records
from drover.cli.running import asynchronous
from drover.cli.target import data_dir_option
from drover.cli.wanted import Wanted


@click.command()
@click.argument("pattern", type=Pattern(), required=False)
@context_option
@partition_option
@filter_options
@limit_option
@click.option("--cloudevents", is_flag=True, help="Print CloudEvents 1.0, one JSON document a line.")
@archive_option
@json_option
@data_dir_option
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
    """Show all events that match, oldest first. Exits with 3 if there is none.

    PATTERN is a regular expression, looked for in the event's line as it is stored. With --json each line is an event
    exactly as it is stored.
    """
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
