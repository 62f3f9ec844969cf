"""The numbers of reminders (seed 004): what can be set is in `Policy`, the rest are bounds."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from drover.domain.backoff import Backoff

ID_PATTERN: Final = r"^[A-Za-z0-9_.:@|-]{1,128}$"
"""Of pages and users. No `~`: it divides the parts of a sending's key."""
SUBSCRIPTION_ID_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"
CODE_PATTERN: Final = r"^[a-z0-9_]{1,64}$"
"""Of what went wrong with a sending."""
INSTANCE_CHARS_MAX: Final = 128

TEXT_CHARS_MAX: Final = 2000
"""Of a title, of a body. They are taken from pages, so what is longer is cut, not refused."""
ERROR_CHARS_MAX: Final = 500
NOTIFICATION_ID_CHARS_MAX: Final = 255
ALARMS_PER_USER_MAX: Final = 10_000
PAGES_PER_DELETION_MAX: Final = 100
CHANNELS: Final = ("webpush",)
"""What a user can subscribe to. Other ways are the operator's, not the user's."""
SUBSCRIPTIONS_PER_USER_MAX: Final = 20
SEALED_CHARS_MAX: Final = 8192

SENT_COUNT_FIRST: Final = 1
FETCH_LIMIT_MAX: Final = 200
"""Alarms that one claim may take: with the longest ids they still fit one decision."""

TRIES_MAX: Final = 50
"""Shifted times that are tried when a user's minute is taken."""
SHIFT_MAX_MIN: Final = 59
AHEAD_MAX: Final = timedelta(days=3653)
"""So far ahead can an alarm be set: ten years."""

KEYS_REMEMBERED_FOR: Final = timedelta(days=2)
"""A page that is registered again so soon after its deletion gets keys that differ from those of its first life: a
provider that drops repeats would take them for one. Such providers remember keys for a day."""
FAILURES_ALERT_AT: Final = 20
"""Sendings that failed in a row, of any alarm of a partition: then it is the provider."""
CROWDED_ALERT_LASTS: Final = timedelta(hours=24)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator can set. Used in decisions only: what follows from it stands in the events."""

    base: timedelta = timedelta(hours=24)
    """From the first sending to the second."""
    cap: timedelta = timedelta(days=180)
    """No pause is longer."""
    recover_after: timedelta = timedelta(hours=6)
    """A sending of which nothing is known is taken up again after this."""
    retry_first: timedelta = timedelta(seconds=30)
    retry_max: timedelta = timedelta(minutes=30)
    timezone_default: str = "Asia/Seoul"

    def pause(self, sent_count: int) -> timedelta:
        """After the sending with this number. Doubles each time."""
        backoff = Backoff(first_s=self.base.total_seconds(), max_s=self.cap.total_seconds())
        return backoff.pause(sent_count - SENT_COUNT_FIRST + 1)

    def retry_after(self, attempt: int) -> timedelta:
        """After the attempt with this number at one sending failed, and may succeed the next time."""
        backoff = Backoff(first_s=self.retry_first.total_seconds(), max_s=self.retry_max.total_seconds())
        return backoff.pause(attempt)
