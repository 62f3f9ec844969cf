"""The settings of the cleanup service."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import CleanupSeconds, CronExpression, CronSecrets, Flag, HttpUrl, TierTimeouts


class CleanupSettings(Section, frozen=True, kw_only=True):
    """When stalled analyses are cleaned up, and who may ask for it."""

    cron_secrets: CronSecrets = ()
    """What `POST /api/system/cleanup-tests` asks for; the second one is on its way in or out. Not set: CRON_SECRET is
    taken, and without that one too nobody may ask for it."""
    cleanup_cron: CronExpression = "0 * * * *"
    """When stalled analyses are cleaned up, in UTC."""
    cleanup_timeout_s: CleanupSeconds = 1800
    """How long an analysis may take. What takes longer is stalled: it is failed and given back."""
    cleanup_tier_timeouts_s: TierTimeouts = ()
    """The same for users of single tiers."""
    cleanup_notifies: Flag = True
    """Record for each user of a cleanup that they are to be told."""
    analysis_url: HttpUrl | None = None
    """The provider of analyses. Only asked whether it can be reached, for `GET /api/system/health`."""
