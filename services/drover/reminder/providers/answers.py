"""Maps the HTTP status of a provider's answer to the outcome of a sending."""

from __future__ import annotations

from typing import Final

from drover.outbound.http import Answer
from drover.reminder.notification import Failed

PASSING: Final = frozenset({408, 409, 425, 429})
"""HTTP statuses of a provider's answer after which a retry may succeed, in addition to any 5xx. Some providers answer
409 while they still process an earlier request with the same idempotency key."""
ERROR_CHARS_MAX: Final = 200


def is_success(answer: Answer) -> bool:
    return 200 <= answer.status < 300


def failure(answer: Answer) -> Failed:
    """Make the failure for an answer that is not a success. A redirect is permanent: it is not followed."""
    permanent = answer.status < 500 and answer.status not in PASSING
    said = answer.body[:ERROR_CHARS_MAX].decode("utf-8", "replace")
    return Failed(permanent=permanent, code=f"http_{answer.status}", error=said)
