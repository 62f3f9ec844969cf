"""Limits of reminders (document 004); `Policy` holds the values that an operator can set."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from drover.domain.backoff import Backoff

CONTEXT: Final = "reminder"
ID_PATTERN: Final = r"^[A-Za-z0-9_.:@|-]{1,128}$"
"""The pattern of the ids of pages and users. It has no `~`, because that separates the parts of a sending's key."""
SUBSCRIPTION_ID_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"
CODE_PATTERN: Final = r"^[a-z0-9_]{1,64}$"
"""The pattern of error codes of sendings."""
INSTANCE_CHARS_MAX: Final = 128

TEXT_CHARS_MAX: Final = 2000
"""Maximum length of a title or a body. They come from pages, so longer ones are cut, not refused."""
ERROR_CHARS_MAX: Final = 500
NOTIFICATION_ID_CHARS_MAX: Final = 255
ALARMS_PER_USER_MAX: Final = 10_000
PAGES_PER_DELETION_MAX: Final = 100
CHANNELS: Final = ("webpush",)
"""The channels (ways to send) that users can subscribe to. All other channels are configured by the operator."""
SUBSCRIPTIONS_PER_USER_MAX: Final = 20
SEALED_CHARS_MAX: Final = 8192
SEALED_TEXT_CHARS_MAX: Final = 12_000
"""Maximum length of a title or a body after it was sealed. `TEXT_CHARS_MAX` characters of any language fit."""

SENT_COUNT_FIRST: Final = 1
SENT_COUNT_MAX: Final = 1_000_000
"""The largest `sent_count` that a client can write into a new alarm."""
FETCH_LIMIT_MAX: Final = 200
"""The maximum number of alarms in one claim: even with the longest ids they fit into one decision."""

TRIES_MAX: Final = 50
"""How many other minutes are tried when the wanted minute of a user is taken. After that, two alarms share a minute."""
SHIFT_MAX_MIN: Final = 59
AHEAD_MAX: Final = timedelta(days=3653)
"""How far ahead an alarm can be set: ten years."""

KEYS_REMEMBERED_FOR: Final = timedelta(days=2)
"""How long the `life` number of a deleted page is remembered. If the page is registered again within this time, its
sendings get other keys than before; with the same keys a provider could drop them as duplicates. Such providers
remember keys for a day."""
KEYS_REMEMBERED_MAX: Final = 100_000
"""How many deleted pages a partition remembers, besides those that were deleted within `KEPT_AT_LEAST`. Of the others
it remembers only their highest `life` number."""
FAILURES_ALERT_AT: Final = 20
"""After this many failed sendings in a row, of any alarms of a partition, an alert about the provider is raised."""
REFUSALS_RETRIED_FOR: Final = timedelta(days=1)
"""How long a sending is retried whose receiver refuses the caller or knows no such address."""
CROWDED_ALERT_LASTS: Final = timedelta(hours=24)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Values that an operator can set. Only new decisions use them; a change does not affect recorded events."""

    base: timedelta = timedelta(hours=24)
    """The pause between the first sending and the second."""
    cap: timedelta = timedelta(days=180)
    """The longest pause between two sendings."""
    recover_after: timedelta = timedelta(hours=6)
    """A claimed sending without a report is retried after this time."""
    retry_first: timedelta = timedelta(seconds=30)
    retry_max: timedelta = timedelta(minutes=30)
    timezone_default: str = "Asia/Seoul"

    def pause(self, sent_count: int) -> timedelta:
        """Return the pause after a sending. `sent_count`: the alarm's count before that sending. The pause doubles with
        each sending, up to `cap`."""
        backoff = Backoff(first_s=self.base.total_seconds(), max_s=self.cap.total_seconds())
        return backoff.pause(sent_count - SENT_COUNT_FIRST + 1)

    def retry_after(self, attempt: int) -> timedelta:
        """Return the pause before the next attempt, after this many attempts at the same sending."""
        backoff = Backoff(first_s=self.retry_first.total_seconds(), max_s=self.retry_max.total_seconds())
        return backoff.pause(attempt)

    def has_retried_for(self, lasts: timedelta, attempt: int, *, first: int = 1) -> bool:
        """Whether the pauses after the attempts from `first` to `attempt` add up to at least `lasts`. Only the pauses
        count, not the time since the sending was due. So a sending gets all its retries even if no sender ran for
        days."""
        paused = timedelta()
        for number in range(first, attempt + 1):
            paused += self.retry_after(number)
            if paused >= lasts:
                return True
        return False
