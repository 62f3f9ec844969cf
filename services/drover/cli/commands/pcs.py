"""`drover pcs`: its commands, options and help. What they do is in `drover.cli.operations.pcs`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.operation_options import limit_option, watch_option
from drover.cli.options import Number, json_option
from drover.cli.server_options import server_options

pc_argument: Final = click.argument("pc", metavar="PC", help="The id of the PC, or the beginning of it.")


@click.group(epilog=examples("drover pcs list", "drover pcs show PC-01 --watch", "drover pcs capacity PC-01 10"))
def pcs() -> None:
    """List PCs, and set how many of their phones work at once."""


@pcs.command(name="list", epilog=examples("drover pcs list", "drover pcs list --watch", "drover pcs list --json"))
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List PCs with the number of their phones by status."""
    from drover.cli.operations.pcs import list_ as run

    run(**options)


@pcs.command(epilog=examples("drover pcs show PC-01", "drover pcs show PC-01 --watch"))
@pc_argument
@watch_option
@json_option
@server_options
def show(**options: Any) -> None:
    """Show a PC and the phones that are working."""
    from drover.cli.operations.pcs import show as run

    run(**options)


@pcs.command(epilog=examples("drover pcs capacity PC-01 10"))
@pc_argument
@click.argument("phones", type=Number(1, 20), metavar="N", help="How many phones may work at once.")
@json_option
@server_options
def capacity(**options: Any) -> None:
    """Set how many phones of a PC may work at once.

    New slots are filled at once. If there are fewer, nothing is taken back.
    """
    from drover.cli.operations.pcs import capacity as run

    run(**options)
