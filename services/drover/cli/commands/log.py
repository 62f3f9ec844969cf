"""`drover log`: its options and help. What its commands do is in `drover.cli.log_*`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.options import data_dir_option


@click.group()
def log() -> None:
    """Change how NATS keeps the log."""


@log.command()
@click.argument("number", type=click.IntRange(1, 5), help="How many NATS nodes hold each stream: 1, 3 or 5.")
@data_dir_option
def replicas(**options: Any) -> None:
    """Change how many NATS nodes hold each stream and bucket.

    The services keep running meanwhile. It waits until all replicas are current; interrupting it changes nothing, and
    running it again continues. It needs the NATS user `restore`, which may change streams.
    """
    from drover.cli.log_replicas import replicas as run

    run(**options)
