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
from drover.cli.examples import examples
from drover.cli.options import Number, data_dir_option, forget_option, json_option


@click.group(epilog=examples("drover events tail", "drover events grep --type 'Job*' --since 1d"))
def events() -> None:
    """Read, export and import the events of the log."""


@events.command(
    epilog=examples(
        "drover events tail",
        "drover events tail --type 'Device*' --last 100",
        "drover events tail --context render --json --no-follow",
    )
)
@context_option
@partition_option
@click.option("--from", "from_n", type=Number(1), metavar="N", help="Start at event number N.")
@click.option(
    "--last",
    type=Number(0, LAST_MAX),
    metavar="N",
    help="Start with the last N events that match.",
    show_default=str(LAST_DEFAULT),
)
@filter_options
@click.option("--follow/--no-follow", default=True, show_default=True, help="Wait for new events and show them.")
@archive_option
@json_option
@data_dir_option
def tail(**options: Any) -> None:
    """Show the last events, then new ones as they happen.

    Press Ctrl-C to stop. With --archive or --until there are no new events, so it stops by itself. With --json each
    line is an event exactly as it is stored.
    """
    from drover.cli.events import tail as run

    run(**options)


@events.command(epilog=examples("drover events show 1042", "drover events show 512:0 --context render"))
@click.argument(
    "event", type=Reference(), metavar="EVENT", help="Its number, such as 1042, or its place SEQ:LINE, such as 512:0."
)
@context_option
@partition_option
@archive_option
@json_option
@data_dir_option
def show(**options: Any) -> None:
    """Show one event with all its fields and its commit.

    It also shows the other events of the same command. SEQ is the sequence of the commit, and LINE is the line within
    it, counted from 0.
    """
    from drover.cli.events import show as run

    run(**options)


@events.command(
    epilog=examples(
        "drover events grep APP_CRASH --since 2h", "drover events grep --type JobCreated --by service_role --json"
    )
)
@click.argument(
    "pattern", type=Pattern(), required=False, help="A regular expression to search for in each event as it is stored."
)
@context_option
@partition_option
@filter_options
@limit_option
@click.option("--cloudevents", is_flag=True, help="Print CloudEvents 1.0, one JSON document a line.")
@archive_option
@json_option
@data_dir_option
def grep(**options: Any) -> None:
    """Search the log and show all events that match.

    The oldest event comes first. Exits with 3 if no event matches. With --json each line is an event exactly as it is
    stored.
    """
    from drover.cli.events_grep import grep as run

    run(**options)


@events.command(
    epilog=examples(
        "drover events export -o fleet.jsonl", "drover events export -o fleet.json --cloudevents --since 7d"
    )
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, which only its owner may read. It is compressed if its name ends in .zst.",
    show_default="standard output",
)
@context_option
@partition_option
@filter_options
@limit_option
@click.option("--cloudevents", is_flag=True, help="Write CloudEvents 1.0, which cannot be imported again.")
@archive_option
@data_dir_option
def export(**options: Any) -> None:
    """Write events as JSON lines to a file or to standard output.

    Each line has the position of its event in the log. Without filters the output is the whole log, which `drover
    events import` can restore. The file contains everything that the log contains, so keep it as safe as the log.
    """
    from drover.cli.events_export import export as run

    run(**options)


@events.command(
    "import", epilog=examples("drover events import fleet.jsonl --check", "drover events import fleet.jsonl")
)
@click.argument(
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True),
    help="A file that `drover events export` wrote without filters.",
)
@click.option("--check", is_flag=True, help="Check the file and write nothing. No server is needed.")
@forget_option
@json_option
@data_dir_option
def import_(**options: Any) -> None:
    """Restore an exported log into an empty one.

    Stop the services first. Every commit gets its old position, id, epoch and time. The whole file is checked before
    the first commit is written. With a data directory, NATS is started only for this command. If it is interrupted, run
    the same command again to continue.

    Reactors of the context are off afterwards: run `drover reactors on` when you have checked the result.
    """
    from drover.cli.events_import import import_ as run

    run(**options)
