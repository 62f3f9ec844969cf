"""Checks that receivers of alerts are set and complete, and that the notifier runs. `drover alerts test` sends a
message."""

from __future__ import annotations

from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.cli.checks.machine import settings_of, with_settings
from drover.domain.errors import DroverError
from drover.notifier.app import LEADER
from drover.notifier.receivers.choice import ReceiverIncomplete, chosen_receivers
from drover.notifier.settings import AlertSettings
from drover.writer.nats_lease import read_holder


@with_settings
async def alerts_are_told(scene: Scene) -> Finding:
    try:
        receivers = chosen_receivers(settings_of(scene, AlertSettings))
    except ReceiverIncomplete as error:
        return fail("alerts would be posted without a signature", str(error))
    if not receivers:
        return skipped("shown on the dashboard only", "Set DROVER_ALERT_SLACK_URL, or DROVER_ALERT_WEBHOOK_URL.")
    names = " and ".join(receiver.name for receiver in receivers)
    if isinstance(scene.nats, DroverError):
        return skipped(f"to {names}; NATS was not reached")
    holder = await read_holder(scene.nats, LEADER)
    if holder is None:
        return warn(f"to {names}, but no service delivers them", "Start the service: `drover serve notifier`.")
    return ok(f"to {names}, by {holder.instance}; `drover alerts test` sends a test message")
