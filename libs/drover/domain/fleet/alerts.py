"""Kinds of alerts that the fleet raises. Alerts themselves are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

POISON_JOB: Final = "poison_job"
HOST_FAILING: Final = "host_failing"
HOST_SILENT: Final = "host_silent"
NEEDS_RESET: Final = "needs_reset"
OFFERS_UNTAKEN: Final = "offers_untaken"
RATE_LIMITED: Final = "rate_limited"
