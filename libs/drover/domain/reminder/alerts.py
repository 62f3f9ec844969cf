"""Kinds of alerts that reminders raise. Alerts themselves are in `drover.domain.alerts`."""

from __future__ import annotations

from typing import Final

PUSH_FAILING: Final = "push_failing"
"""The kind of the alert that many sendings in a row failed, of any users. Its subject is the provider that sends
them."""
PROVIDER: Final = "provider"
MINUTE_CROWDED: Final = "minute_crowded"
"""The kind of the alert that two alarms of a user are due in the same minute. Its subject is the user."""
