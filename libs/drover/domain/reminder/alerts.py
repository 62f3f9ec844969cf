"""Kinds of alerts that reminders raise. Alerts themselves are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

PUSH_FAILING: Final = "push_failing"
"""Many sendings in a row failed, of any user. The subject is the provider."""
PROVIDER: Final = "provider"
MINUTE_CROWDED: Final = "minute_crowded"
"""Two alarms of a user share a minute. The subject is the user."""
