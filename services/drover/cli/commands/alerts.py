"""`drover alerts`: its commands, options and help. What they do is in `drover.cli.alerts`."""

from __future__ import annotations

from typing import Any

import click


@click.group()
def alerts() -> None:
    """Check that alerts reach their receivers."""


@alerts.command()
def test(**options: Any) -> None:
    """Send a test message to every receiver of alerts.

    Set the receivers with DROVER_ALERT_SLACK_URL and DROVER_ALERT_WEBHOOK_URL. No server is needed: a message that
    arrives shows that address, secret and network are right.
    """
    from drover.cli.alerts import test as run

    run(**options)
