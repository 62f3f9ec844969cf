"""`drover reactors`: its arguments, options and help. What it does is in `drover.cli.reactors`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS


@click.command()
@click.argument("switch", type=click.Choice(("on", "off")), required=False)
@click.option("--context", "contexts", type=click.Choice(CONTEXTS), multiple=True, help="Which.  [default: all]")
@json_option
@data_dir_option
def reactors(**options: Any) -> None:
    """Show whether reactors act, or let them (`on`), or not (`off`). Services see it when they start.

    After a restore they are off: look at what is due first, then switch them on and restart the services.
    """
    from drover.cli.reactors import reactors as run

    run(**options)
