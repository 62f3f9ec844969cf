"""Builds the receivers from the settings. Raises an error that names a missing setting."""

from __future__ import annotations

from drover.domain.errors import DroverError
from drover.notifier.notice import Receiver
from drover.notifier.receivers.slack import Slack
from drover.notifier.receivers.webhook import Webhook
from drover.notifier.settings import AlertSettings
from drover.outbound.http import Outbound


class ReceiverIncomplete(DroverError):
    """A webhook is configured without a secret, so its receiver could not authenticate the sender."""

    def __init__(self) -> None:
        super().__init__(
            "DROVER_ALERT_WEBHOOK_URL is set, but DROVER_ALERT_WEBHOOK_SECRETS is not: the receiver could not verify "
            "the sender. Set it, for example to $(openssl rand -hex 32), and give it to the receiver"
        )


def chosen_receivers(settings: AlertSettings) -> list[Receiver]:
    """Build the configured receivers. If there are none, only the dashboard shows alerts."""
    receivers: list[Receiver] = []
    if settings.alert_slack_url is not None:
        receivers.append(Slack(settings.alert_slack_url, _outbound(settings)))
    if settings.alert_webhook_url is not None:
        if not settings.alert_webhook_secrets:
            raise ReceiverIncomplete
        receivers.append(Webhook(settings.alert_webhook_url, settings.alert_webhook_secrets, _outbound(settings)))
    return receivers


def _outbound(settings: AlertSettings) -> Outbound:
    return Outbound(timeout_s=settings.alert_send_timeout_s, allow_private=settings.alert_allow_private)
