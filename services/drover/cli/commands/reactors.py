"""`drover reactors`: its arguments, options and help. What it does is in `drover.cli.reactors`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS


@click.command(epilog=examples("drover reactors", "drover reactors on", "drover reactors off --context reminder"))
@click.argument(
    "switch",
    type=click.Choice(("on", "off")),
    required=False,
    help="Switch reactors on or off. Without it, the command only shows how they are.",
)
@click.option(
    "--context",
    "contexts",
    type=click.Choice(CONTEXTS),
    multiple=True,
    help="Take only this context. Repeat it for more.",
    show_default="all",
)
@json_option
@data_dir_option
def reactors(**options: Any) -> None:
    """Show or switch the reactors, which send, render and notify.

    They are off after a restore, so that nothing is sent a second time. Check what is due, switch them on, then restart
    the services: a service reads the switch only when it starts.
    """
    from drover.cli.reactors import reactors as run

    run(**options)
