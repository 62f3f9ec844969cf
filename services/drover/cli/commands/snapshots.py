"""`drover snapshots`: its arguments, options and help. What it does is in `drover.cli.snapshots`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option
from drover.domain.contexts import CONTEXTS


@click.group(epilog=examples("drover snapshots forget fleet"))
def snapshots() -> None:
    """Remove saved states of the writers."""


@snapshots.command(epilog=examples("drover snapshots forget fleet"))
@click.argument("context", type=click.Choice(CONTEXTS), help="The context whose snapshots to remove.")
@data_dir_option
def forget(**options: Any) -> None:
    """Remove all snapshots of a context.

    A writer refuses to lead if its snapshots are of another history than the log. Make sure first that the log is the
    right one: without a snapshot, the next start reads the whole log. Writers that refuse to lead try again within 10
    seconds; they need no restart.
    """
    from drover.cli.snapshots import forget as run

    run(**options)
