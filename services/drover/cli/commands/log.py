"""`drover log`: its commands, options and help."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.commands.archive import address_argument, contexts_option
from drover.cli.moments import Moment
from drover.cli.options import data_dir_option, json_option


@click.group()
def log() -> None:
    """Change the streams that hold the log."""


@log.command("migrate")
@address_argument
@contexts_option
@click.option(
    "--keep",
    "keep_since",
    type=Moment(),
    metavar="AGE",
    help="Write only commits younger than this back into the log, such as 30d. Older ones stay in the archive.",
    show_default="all",
)
@json_option
@data_dir_option
def migrate_command(**options: Any) -> None:
    """Recreate the log, so that old commits can leave it.

    Streams of earlier versions refuse that (DROVER_LOG_KEEP).

    Stop all services first. The log is copied into the archive and the archive is checked, before the stream is
    deleted, created again and filled from the archive. Every commit keeps its position, id, epoch and time. Reactors
    and snapshots stay as they are.

    If it is interrupted, services refuse to start. Run the same command again to continue.
    """
    from drover.cli.log_migrate import migrate_command as run

    run(**options)
