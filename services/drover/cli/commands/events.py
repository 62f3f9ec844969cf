"""`drover events`: its commands, options and help. What they do is in `drover.cli.events` and `events_*`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from drover.cli.events_options import (
    LAST_DEFAULT,
    LAST_MAX,
    Pattern,
    Reference,
    archive_option,
    context_option,
    filter_options,
    limit_option,
    partition_option,
)
from drover.cli.options import data_dir_option, forget_option, json_option


@click.group()
def events() -> None:
    """Look into the log: every event, as it was stored."""


@events.command()
@context_option
@partition_option
@click.option("--from", "from_n", type=click.IntRange(1), metavar="N", help="Start at the event with ordinal N.")
@click.option(
    "--last",
    type=click.IntRange(0, LAST_MAX),
    metavar="N",
    help=f"Start with the last N that match.  [default: {LAST_DEFAULT}]",
)
@filter_options
@click.option("--follow/--no-follow", default=True, show_default=True, help="Go on with what happens next.")
@archive_option
@json_option
@data_dir_option
def tail(**options: Any) -> None:
    """Show events that were (the last 20, unless told otherwise), then those to come, until Ctrl-C.

    With --json each line is an event exactly as it is stored. An archive, and a moment to end at, have nothing to come.
    """
    from drover.cli.events import tail as run

    run(**options)


@events.command()
@click.argument("event", type=Reference(), metavar="N|SEQ:LINE")
@context_option
@partition_option
@archive_option
@json_option
@data_dir_option
def show(**options: Any) -> None:
    """Show one event whole: its fields, its commit, and what else its command did.

    Name it by its ordinal N, or by the sequence of its commit and its line there, from 0.
    """
    from drover.cli.events import show as run

    run(**options)


@events.command()
@click.argument("pattern", type=Pattern(), required=False)
@context_option
@partition_option
@filter_options
@limit_option
@click.option("--cloudevents", is_flag=True, help="Print CloudEvents 1.0, one JSON document a line.")
@archive_option
@json_option
@data_dir_option
def grep(**options: Any) -> None:
    """Show all events that match, oldest first. Exits with 3 if there is none.

    PATTERN is a regular expression, looked for in the event's line as it is stored. With --json each line is an event
    exactly as it is stored.
    """
    from drover.cli.events_grep import grep as run

    run(**options)


@events.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file (mode 600), which appears when it is whole; compressed if its name ends in .zst.",
)
@context_option
@partition_option
@filter_options
@limit_option
@click.option("--cloudevents", is_flag=True, help="CloudEvents 1.0 instead of our own form.")
@archive_option
@data_dir_option
def export(**options: Any) -> None:
    """Write events as JSON lines, each with its place in the log.

    Without any filter it is the whole log up to now, which `drover events import` puts back into an empty one. It holds
    all that the log holds: whoever can read the file can read that.
    """
    from drover.cli.events_export import export as run

    run(**options)


@events.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True))
@click.option("--check", is_flag=True, help="Read and check the file; write nothing. Needs no server.")
@forget_option
@json_option
@data_dir_option
def import_(**options: Any) -> None:
    """Put a whole log back into an empty one: every commit at its position, with its id, epoch and time.

    FILE is what `drover events export` wrote without filters. It is read and checked whole before the first commit is
    written. Interrupted, the same command goes on where it was. The services must not run; with a data directory NATS
    is started for this alone. Reactors of the context stay off until `drover reactors on`.
    """
    from drover.cli.events_import import import_ as run

    run(**options)
