"""`drover log`: its options and help. What its commands do is in `drover.cli.log_*`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.commands.archive import address_argument, contexts_option
from drover.cli.examples import examples
from drover.cli.moments import Moment
from drover.cli.options import data_dir_option, json_option


@click.group(epilog=examples("drover log replicas 3"))
def log() -> None:
    """Change how NATS keeps the log."""


@log.command(epilog=examples("drover log replicas 3"))
@click.argument("number", type=click.IntRange(1, 5), help="How many NATS nodes hold each stream: 1, 3 or 5.")
@data_dir_option
def replicas(**options: Any) -> None:
    """Change how many NATS nodes hold each stream and bucket.

    The services keep running meanwhile. It waits until all replicas are current; interrupting it changes nothing, and
    running it again continues. It needs the NATS user `restore`, which may change streams.
    """
    from drover.cli.log_replicas import replicas as run

    run(**options)


@log.command(
    "migrate", epilog=examples("drover log migrate backup", "drover log migrate backup --context fleet --keep 30d")
)
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
    and snapshots stay as they are. With --keep, the first commit that stays must not be newer than the newest snapshot.

    If it is interrupted, services refuse to start. Run the same command again to continue.
    """
    from drover.cli.log_migrate import migrate_command as run

    run(**options)
