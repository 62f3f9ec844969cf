"""Turns the settings of the cleanup into fields of the command `Cleanup`."""

from __future__ import annotations

from typing import Any

from drover.cleanup.settings import CleanupSettings
from drover.domain.analysis.commands import Cleanup
from drover.domain.analysis.validation import validate
from drover.service.config import ConfigurationError

_A_RUN = "00000000-0000-7000-8000-000000000000"


def cleanup_options(settings: CleanupSettings) -> dict[str, Any]:
    """Make the fields of the command `Cleanup`. Raises an error for invalid settings at the start, instead of at every
    cleanup."""
    tiers = dict(pair.split("=") for pair in settings.cleanup_tier_timeouts_s)
    options: dict[str, Any] = {
        "timeout_s": settings.cleanup_timeout_s,
        "tier_timeouts_s": {tier: int(timeout_s) for tier, timeout_s in tiers.items()},
        "notify": settings.cleanup_notifies,
    }
    if refusal := validate(Cleanup(_A_RUN, **options)):
        raise ConfigurationError((f"DROVER_CLEANUP_TIER_TIMEOUTS_S is not understood: {refusal.message}.",))
    return options
