"""`drover why`: its arguments, options and help. What it does is in `drover.cli.operations.why`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.examples import examples
from drover.cli.operation_options import watch_option
from drover.cli.operations.statuses import WHY_KINDS
from drover.cli.options import json_option
from drover.cli.server_options import server_options


@click.command(
    epilog=examples(
        "drover why 0199a1b2-4c3d",
        "drover why R58M00001 --watch",
        "drover why 42 --kind render --json",
        "drover why u1/p1 --kind alarm",
    )
)
@click.argument(
    "id_",
    metavar="ID",
    help="The id of a job, an assignment, a phone, a render, a test or an alarm's page, or the beginning of it; the "
    "serial number of a phone; or USER/PAGE of an alarm.",
)
@click.option("--kind", type=click.Choice(WHY_KINDS), help="Look only for this kind.")
@watch_option
@json_option
@server_options
def why(**options: Any) -> None:
    """Say why something waits, or how it ended.

    The first reason must be over before the others matter.
    """
    from drover.cli.operations.why import why as run

    run(**options)
