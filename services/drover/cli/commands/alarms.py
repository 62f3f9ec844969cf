"""`drover alarms`: its commands, options and help. What they do is in `drover.cli.operations.alarms`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.operation_options import limit_option, user_option, watch_option, yes_option
from drover.cli.operations.statuses import ALARMS
from drover.cli.options import json_option
from drover.cli.server_options import server_options

alarm_argument: Final = click.argument(
    "alarm", metavar="PAGE", help="The page of the alarm, or the beginning of its id; or USER/PAGE."
)
alarms_argument: Final = click.argument(
    "alarms", nargs=-1, required=True, metavar="PAGE...", help="The pages of alarms, or the beginnings; or USER/PAGE."
)


@click.group(
    epilog=examples(
        "drover alarms list --status due --watch",
        "drover alarms reschedule p1 2030-03-02T09:00",
        "drover alarms delete p1 --yes",
    )
)
def alarms() -> None:
    """List, reschedule, send and delete the alarms of pages."""


@alarms.command(
    name="list",
    epilog=examples(
        "drover alarms list --status failing --watch",
        "drover alarms list --user u1",
        "drover alarms list --limit 100 --json",
    ),
)
@click.option(
    "--status",
    "state",
    type=click.Choice(ALARMS),
    metavar="STATUS",
    help=f"Select this status: {', '.join(ALARMS)}.",
)
@user_option
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List alarms, soonest first."""
    from drover.cli.operations.alarms import list_ as run

    run(**options)


@alarms.command(epilog=examples("drover alarms show p1", "drover alarms show u1/p1 --watch"))
@alarm_argument
@watch_option
@json_option
@server_options
def show(**options: Any) -> None:
    """Show an alarm and its history."""
    from drover.cli.operations.alarms import show as run

    run(**options)


@alarms.command(
    epilog=examples("drover alarms reschedule p1 2030-03-02T09:00", "drover alarms reschedule p1 2030-03-02T00:00Z")
)
@alarm_argument
@click.argument("time", metavar="TIME", help="The next time. Without an offset, it is the local time of the user.")
@json_option
@server_options
def reschedule(**options: Any) -> None:
    """Set the next time of an alarm."""
    from drover.cli.operations.alarms import reschedule as run

    run(**options)


@alarms.command(epilog=examples("drover alarms send p1"))
@alarms_argument
@json_option
@server_options
def send(**options: Any) -> None:
    """Send alarms now. They keep their count."""
    from drover.cli.operations.alarms import send as run

    run(**options)


@alarms.command(epilog=examples("drover alarms delete p1", "drover alarms delete u1/p1 u1/p2 --yes"))
@alarms_argument
@yes_option
@json_option
@server_options
def delete(**options: Any) -> None:
    """Delete alarms."""
    from drover.cli.operations.alarms import delete as run

    run(**options)
