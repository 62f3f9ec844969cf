"""`drover alerts`: its commands, options and help. What they do is in `drover.cli.alerts`."""

from __future__ import annotations

from typing import Any

import click


@click.group()
def alerts() -> None:
    """Alerts: who is told of them."""


@alerts.command()
def test(**options: Any) -> None:
    """Send a test message to every receiver that is set (DROVER_ALERT_SLACK_URL, DROVER_ALERT_WEBHOOK_URL).

    It asks neither NATS nor the notifier: what arrives shows that address, secret and network are right.
    """
    from drover.cli.alerts import test as run

    run(**options)
