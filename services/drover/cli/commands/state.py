"""`drover state`: its arguments, options and help. What it does is in `drover.cli.state`."""

from __future__ import annotations

from typing import Any

import click

from drover.cli.events_options import archive_option
from drover.cli.examples import examples
from drover.cli.moments import Moment
from drover.cli.options import data_dir_option, json_option
from drover.domain.contexts import CONTEXTS


@click.command(
    epilog=examples("drover state --as-of 10m", "drover state --context render --as-of 2026-03-02T09:00 --json")
)
@click.option(
    "--as-of",
    "at",
    type=Moment(),
    metavar="TIME",
    help="The time to show. Write how long ago (30s, 10m, 2h, 7d) or an ISO time.",
    show_default="now",
)
@click.option(
    "--context", type=click.Choice(CONTEXTS), default="fleet", show_default=True, help="Show the state of this context."
)
@click.option(
    "--entity",
    metavar="ID",
    help="Show only what contains this id, for example of a device or a job. Exits with 3 if nothing does.",
)
@archive_option
@json_option
@data_dir_option
def state(**options: Any) -> None:
    """Show the state of a context at a moment in the past.

    The state is built from the events up to that moment. It starts at the last checkpoint in PostgreSQL, or at the
    first event if there is none. Heartbeats and progress are not events, so they are not shown.
    """
    from drover.cli.state import state as run

    run(**options)
