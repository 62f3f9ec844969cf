"""`drover archive`: its commands, options and help. What they do is in `drover.cli.archive`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from drover.cli.events_options import Name
from drover.cli.moments import Moment
from drover.cli.options import data_dir_option, forget_option, json_option

directory_argument = click.argument("directory", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
contexts_option = click.option(
    "--context", "contexts", type=Name(), multiple=True, help="Only this one. Repeatable.  [default: all]"
)


@click.group()
def archive() -> None:
    """The log in compressed files: a backup, and what can be read when the platform is gone."""


@archive.command("create")
@directory_argument
@contexts_option
@click.option("--older-than", "before", type=Moment(), metavar="AGE", help="Only commits older than this: 30d, 12h.")
@click.option("--up-to", type=click.IntRange(1), metavar="SEQ", help="Only commits up to this one (one --context).")
@json_option
@data_dir_option
def create_command(**options: Any) -> None:
    """Bring an archive up to date, or make one: all commits up to now, unless told otherwise.

    It goes on where it ended the last time, and while the platform works. Nothing is taken out of the log. Interrupted,
    what is there is whole, and the same command goes on. The files hold all that the log holds (mode 600).
    """
    from drover.cli.archive import create_command as run

    run(**options)


@archive.command("list")
@directory_argument
@contexts_option
@click.option("--segments", "each", is_flag=True, help="Show every segment.")
@json_option
def list_command(**options: Any) -> None:
    """Show what an archive holds, by its index. Needs no server; `verify` looks at the files."""
    from drover.cli.archive import list_command as run

    run(**options)


@archive.command("verify")
@directory_argument
@contexts_option
@json_option
def verify_command(**options: Any) -> None:
    """Read every segment and check every commit of it. Exits with 1 if anything is missing, changed or cut off.

    Needs no server.
    """
    from drover.cli.archive import verify_command as run

    run(**options)


@archive.command("restore")
@directory_argument
@contexts_option
@forget_option
@json_option
@data_dir_option
def restore_command(**options: Any) -> None:
    """Put an archive back into empty logs: every commit at its position, with its id, epoch and time.

    The archive is checked whole before the first commit is written. The services must not run; with a data directory
    NATS is started for this alone. Interrupted, the same command goes on where it was. Reactors stay off afterwards
    until `drover reactors on`.
    """
    from drover.cli.archive import restore_command as run

    run(**options)
