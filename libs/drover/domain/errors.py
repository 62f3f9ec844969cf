"""The root of every error of ours, and the codes with which a command can be refused. No HTTP here: edges map codes."""

from __future__ import annotations

from typing import Final


class DroverError(Exception):
    """Something in Drover went wrong. Subclasses carry data; nobody parses their text."""


class Code:
    """Why a command was refused. Clients see these words, so they never change their meaning."""

    VALIDATION_ERROR: Final = "VALIDATION_ERROR"
    NOT_FOUND: Final = "NOT_FOUND"
    CONFLICT: Final = "CONFLICT"
    UNIQUE_VIOLATION: Final = "23505"  # what a Postgres-shaped client looks for
    STALE_ATTEMPT: Final = "STALE_ATTEMPT"  # a report of a run that is over; recorded, and without effect
    NO_TESTS_LEFT: Final = "NO_TESTS_LEFT"  # a user has started as many analyses as they had
    PAST_SCHEDULE: Final = "PAST_SCHEDULE"  # asked for a time that has passed; recorded, and without effect
    FORBIDDEN: Final = "FORBIDDEN"
    RATE_LIMITED: Final = "RATE_LIMITED"
    IDEMPOTENCY_MISMATCH: Final = "IDEMPOTENCY_MISMATCH"  # the same key with another body
    TOO_LARGE: Final = "TOO_LARGE"
    OVERLOADED: Final = "OVERLOADED"  # the intake is full: come back later
    UNAVAILABLE: Final = "UNAVAILABLE"  # nobody answered before the deadline; the command may still take effect
    NOT_LEADER: Final = "NOT_LEADER"  # this writer's term is over: ask again, the next one answers
    INTERNAL: Final = "INTERNAL"
