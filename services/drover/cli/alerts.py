"""`drover alerts`: sends a test message to the receivers of alerts. The notifier sends real alerts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Final

import click
from uuid_utils import uuid4

from drover.cli.exits import Exit
from drover.cli.running import asynchronous
from drover.notifier.notice import Delivered, Failed, Notice, Outcome
from drover.notifier.receivers.choice import chosen_receivers
from drover.notifier.settings import AlertSettings
from drover.platform.settings import load
from drover.service.config import REQUIRED


@asynchronous
async def test() -> Exit:
    receivers = chosen_receivers(settings_of(os.environ))
    if not receivers:
        click.echo("No receiver for alerts is set. Set DROVER_ALERT_SLACK_URL or DROVER_ALERT_WEBHOOK_URL.")
        return Exit.CONFIGURATION
    well = True
    async with AsyncExitStack() as stack:
        for receiver in receivers:
            await stack.enter_async_context(receiver.running())
            outcome = await receiver.send(a_test(), repeat=False)
            well = well and isinstance(outcome, Delivered)
            click.echo(f"{receiver.name}: {told(outcome)}")
    return Exit.OK if well else Exit.FAILED


def settings_of(environ: Mapping[str, str]) -> AlertSettings:
    """Load only the settings of receivers: the command needs no servers and no secret of the platform."""
    return load(environ, without=REQUIRED)[AlertSettings]


def a_test() -> Notice:
    return Notice(
        context="test",
        alert_id=str(uuid4()),
        phase="raised",
        kind="test",
        subject="drover",
        at=datetime.now(UTC),
        message="This is a test: alerts of Drover arrive here. No action is needed.",
    )


def told(outcome: Outcome) -> str:
    if isinstance(outcome, Delivered):
        return "delivered"
    certain = "was not delivered" if isinstance(outcome, Failed) else "did not answer, and may have it"
    return f"{certain} ({outcome.code}). {_ADVICE.get(outcome.code, 'Check its address.')}"


_ADVICE: Final = {
    "address_refused": "It is in a private network: set DROVER_ALERT_ALLOW_PRIVATE=1 if that is intended.",
    "connect_failed": "No server answers: check the address, DNS and the firewall.",
    "timed_out": "Check the receiver, or raise DROVER_ALERT_SEND_TIMEOUT_S.",
    "http_401": "It rejects the signature: check DROVER_ALERT_WEBHOOK_SECRETS on both sides.",
    "http_403": "It rejects the signature, or the webhook was disabled.",
    "http_404": "The address is wrong, or the webhook was removed: create a new one.",
    "http_410": "The webhook was removed: create a new one.",
}
