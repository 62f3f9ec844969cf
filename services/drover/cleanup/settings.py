"""The settings of the cleanup service."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import CleanupSeconds, CronExpression, CronSecrets, Flag, HttpUrl, TierTimeouts


class CleanupSettings(Section, frozen=True, kw_only=True):
    """When stalled analyses are cleaned up, and who may start a cleanup."""

    cron_secrets: CronSecrets = ()
    """The secrets that `POST /api/system/cleanup-tests` accepts; a second one is for rotation. Default: CRON_SECRET;
    without either, the route refuses everybody."""
    cleanup_cron: CronExpression = "0 * * * *"
    """When stalled analyses are cleaned up, in UTC."""
    cleanup_timeout_s: CleanupSeconds = 1800
    """How long an analysis may take. One that takes longer is stalled: it is failed and refunded."""
    cleanup_tier_timeouts_s: TierTimeouts = ()
    """How long an analysis may take for users of certain tiers, instead of DROVER_CLEANUP_TIMEOUT_S."""
    cleanup_notifies: Flag = True
    """Whether users get a notice about refunded tests, through the provider of reminders."""
    analysis_url: HttpUrl | None = None
    """The URL of the provider of analyses. Only used by `GET /api/system/health`, to check that it can be reached."""
