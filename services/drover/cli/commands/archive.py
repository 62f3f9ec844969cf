"""`drover archive`: its commands, options and help. What they do is in `drover.cli.archive`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.events_options import Name
from drover.cli.examples import examples
from drover.cli.moments import Moment
from drover.cli.options import Number, data_dir_option, forget_option, json_option

address_argument = click.argument(
    "address",
    envvar="DROVER_ARCHIVE",
    metavar="ARCHIVE",
    help="The archive: a directory, or s3://bucket/prefix. By default DROVER_ARCHIVE.",
)
contexts_option = click.option(
    "--context",
    "contexts",
    type=Name(),
    multiple=True,
    help="Take only this context. Repeat it for more.",
    show_default="all",
)


@click.group(epilog=examples("drover archive create backup", "drover archive verify backup"))
def archive() -> None:
    """Back up the log to compressed files, and restore it."""


@archive.command(
    "create", epilog=examples("drover archive create backup", "drover archive create s3://bucket/farm --older-than 30d")
)
@address_argument
@contexts_option
@click.option(
    "--older-than",
    "before",
    type=Moment(),
    metavar="AGE",
    help="Archive only commits older than this, such as 30d or 12h.",
)
@click.option(
    "--up-to",
    type=Number(1),
    metavar="SEQ",
    help="Archive only commits up to this sequence. Needs one --context.",
)
@json_option
@data_dir_option
def create_command(**options: Any) -> None:
    """Create an archive, or add new commits to it.

    It continues after the last commit that is archived. The platform may run meanwhile, and nothing is removed from
    the log. If it is interrupted, the archive stays valid; run the same command again to continue. The files contain
    everything that the log contains, so only their owner may read them (mode 600).
    """
    from drover.cli.archive import create_command as run

    run(**options)


@archive.command(
    "list", epilog=examples("drover archive list backup", "drover archive list backup --context fleet --segments")
)
@address_argument
@contexts_option
@click.option("--segments", "each", is_flag=True, help="Show every segment.")
@json_option
def list_command(**options: Any) -> None:
    """Show what an archive contains, according to its index.

    No server is needed. To check the files themselves, run `drover archive verify`.
    """
    from drover.cli.archive import list_command as run

    run(**options)


@archive.command("verify", epilog=examples("drover archive verify backup"))
@address_argument
@contexts_option
@json_option
def verify_command(**options: Any) -> None:
    """Check every commit in every file of an archive.

    Exits with 1 if anything is missing, changed or cut off. No server is needed.
    """
    from drover.cli.archive import verify_command as run

    run(**options)


@archive.command("restore", epilog=examples("drover archive restore backup --data-dir restored"))
@address_argument
@contexts_option
@forget_option
@json_option
@data_dir_option
def restore_command(**options: Any) -> None:
    """Restore an archive into empty logs.

    Stop the services first. Every commit gets its old position, id, epoch and time. The whole archive is checked before
    the first commit is written. With a data directory, NATS is started only for this command. If it is interrupted, run
    the same command again to continue.

    Reactors are off afterwards: run `drover reactors on` when you have checked the result.
    """
    from drover.cli.archive import restore_command as run

    run(**options)
