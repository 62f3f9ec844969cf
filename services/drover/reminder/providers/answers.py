"""What the status of an answer says about a sending, as one table."""

from __future__ import annotations

from typing import Final

from drover.outbound.http import Answer
from drover.reminder.notification import Failed

PASSING: Final = frozenset({408, 409, 425, 429})
"""May be otherwise next time; 409 is what some say to a key that they are just working on. So is any 5xx."""
ERROR_CHARS_MAX: Final = 200


def is_success(answer: Answer) -> bool:
    return 200 <= answer.status < 300


def failure(answer: Answer) -> Failed:
    """Of an answer that is none. A redirect is not followed, so it is a failure that would come again."""
    permanent = answer.status < 500 and answer.status not in PASSING
    said = answer.body[:ERROR_CHARS_MAX].decode("utf-8", "replace")
    return Failed(permanent=permanent, code=f"http_{answer.status}", error=said)
