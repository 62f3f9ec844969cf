"""`drover state`: its arguments, options and help. What it does is in `drover.cli.state`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.events_options import archive_option
from drover.cli.moments import Moment
from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS


@click.command()
@click.option("--as-of", "at", type=Moment(), metavar="TIME", help="10m ago, or an ISO time.  [default: now]")
@click.option("--context", type=click.Choice(CONTEXTS), default="fleet", show_default=True, help="Of which context.")
@click.option("--entity", metavar="ID", help="Only what is about this device, job, … id. Exits with 3 if nothing is.")
@archive_option
@json_option
@data_dir_option
def state(**options: Any) -> None:
    """Show the state of a context as it was: what its decider knew then, and nothing that came later.

    It starts from the last checkpoint before that moment where Postgres has one, else from the first event. Signs of
    life and progress between two events are not kept, so neither is shown.
    """
    from drover.cli.state import state as run

    run(**options)
