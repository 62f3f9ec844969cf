"""`drover alerts`: its commands, options and help. What they do is in `drover.cli.alerts` and
`drover.cli.operations.alerts`."""

from __future__ import annotations

from typing import Any, Final

import click

from drover.cli.examples import examples
from drover.cli.moments import ComingMoment
from drover.cli.operation_options import limit_option, watch_option
from drover.cli.options import json_option
from drover.cli.server_options import server_options

NOTE_CHARS_MAX: Final = 500

alerts_argument: Final = click.argument(
    "alerts", nargs=-1, required=True, metavar="ALERT...", help="The ids of open alerts, or the beginnings of them."
)
note_option: Final = click.option(
    "--note",
    default="",
    metavar="NOTE",
    help=f"For the others, at most {NOTE_CHARS_MAX} characters. It stays in the log for good: write no personal data.",
)


@click.group(
    epilog=examples(
        "drover alerts list --watch",
        "drover alerts acknowledge 5f0c1d2e-8a9b --note 'On my way'",
        "drover alerts test",
    )
)
def alerts() -> None:
    """List, handle and test alerts."""


@alerts.command(
    name="list",
    epilog=examples("drover alerts list --watch", "drover alerts list --all --kind host_silent --json"),
)
@click.option("--all", "everything", is_flag=True, help="Also show alerts that are resolved.")
@click.option("--kind", metavar="KIND", help="Select this kind, such as poison_job or host_silent.")
@limit_option
@watch_option
@json_option
@server_options
def list_(**options: Any) -> None:
    """List open alerts, newest first."""
    from drover.cli.operations.alerts import list_ as run

    run(**options)


@alerts.command(epilog=examples("drover alerts acknowledge 5f0c1d2e-8a9b --note 'On my way'"))
@alerts_argument
@note_option
@json_option
@server_options
def acknowledge(**options: Any) -> None:
    """Say that you take care of open alerts.

    They stay open until their causes are over. This needs the access token of an operator or an admin: `drover token`
    gives one.
    """
    from drover.cli.operations.alerts import acknowledge as run

    run(**options)


@alerts.command(
    epilog=examples(
        "drover alerts snooze 5f0c1d2e-8a9b --until 4h",
        "drover alerts snooze 5f0c1d2e-8a9b --until 2030-01-31T09:00",
    )
)
@alerts_argument
@click.option(
    "--until",
    type=ComingMoment(),
    required=True,
    metavar="TIME",
    help="When the snooze ends: 4h (in four hours) or 2026-01-31T09:00, at most 30 days ahead.",
)
@note_option
@json_option
@server_options
def snooze(**options: Any) -> None:
    """Send no messages about open alerts until a time.

    This is about the kind and the subject, even if the alert is resolved and raised again. A critical alert that is
    still open afterwards is sent again. This needs the access token of an operator or an admin: `drover token` gives
    one.
    """
    from drover.cli.operations.alerts import snooze as run

    run(**options)


@alerts.command(name="end-snooze", epilog=examples("drover alerts end-snooze 5f0c1d2e-8a9b"))
@alerts_argument
@json_option
@server_options
def end_snooze(**options: Any) -> None:
    """End snoozes before their time.

    This needs the access token of an operator or an admin: `drover token` gives one.
    """
    from drover.cli.operations.alerts import end_snooze as run

    run(**options)


@alerts.command(epilog=examples("drover alerts test"))
def test(**options: Any) -> None:
    """Send a test message to every receiver of alerts.

    Set the receivers with DROVER_ALERT_SLACK_URL and DROVER_ALERT_WEBHOOK_URL. No server is needed: a message that
    arrives shows that address, secret and network are right.
    """
    from drover.cli.alerts import test as run

    run(**options)
