"""The settings of the notifier."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Flag, HttpUrl, LongSeconds, MinSeverity, Seconds, Secrets, SlackUrl


class AlertSettings(Section, frozen=True, kw_only=True):
    """Who is told of alerts, and how."""

    alert_slack_url: SlackUrl | None = None
    """The incoming webhook of Slack, or of what speaks like it, where alerts are told. Who has it can post there."""
    alert_webhook_url: HttpUrl | None = None
    """Where alerts are posted to as JSON."""
    alert_webhook_secrets: Secrets = ()
    """What they are signed with. With two, both sign, while the receiver changes from one to the other."""
    alert_min_severity: MinSeverity = "warning"
    """Which alerts are told. The dashboard has all of them."""
    alert_send_timeout_s: Seconds = 5.0
    """How long one telling may take. Shorter than DROVER_SHUTDOWN_GRACE_S by two seconds, or a stop cuts it short."""
    alert_max_age_s: LongSeconds = 86_400.0
    """What could not be told for so long is not news any more."""
    alert_allow_private: Flag = False
    """Let alerts be posted to private, loopback and link-local addresses."""
