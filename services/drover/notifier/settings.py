"""The settings of the notifier."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import Flag, HttpUrl, LongSeconds, MinSeverity, Seconds, Secrets, SlackUrl


class AlertSettings(Section, frozen=True, kw_only=True):
    """Who is notified of alerts, and how."""

    alert_slack_url: SlackUrl | None = None
    """Incoming webhook of Slack, or of a compatible service, that alerts are posted to. Whoever knows the URL can post
    there."""
    alert_webhook_url: HttpUrl | None = None
    """URL that alerts are posted to as JSON."""
    alert_webhook_secrets: Secrets = ()
    """Secrets that sign the requests to the webhook. With two, both sign, while the receiver changes from one to the
    other."""
    alert_min_severity: MinSeverity = "warning"
    """The lowest severity of alerts that are sent. The dashboard shows all alerts."""
    alert_send_timeout_s: Seconds = 5.0
    """Time-out in seconds for sending one alert. Keep it two seconds below DROVER_SHUTDOWN_GRACE_S, or a shutdown may
    interrupt the send."""
    alert_max_age_s: LongSeconds = 86_400.0
    """Alerts that could not be sent for this many seconds are dropped."""
    alert_allow_private: Flag = False
    """Allow posting alerts to private, loopback and link-local addresses."""
