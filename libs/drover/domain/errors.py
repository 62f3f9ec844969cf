"""The base class of Drover's exceptions, and the codes of refused commands. HTTP services map the codes to statuses."""

from __future__ import annotations

from typing import Final


class DroverError(Exception):
    """Something in Drover went wrong. Subclasses carry the details as attributes, so that no code parses their text."""


class Code:
    """Why a command was refused. Clients see these codes, so a code never changes its meaning."""

    VALIDATION_ERROR: Final = "VALIDATION_ERROR"
    NOT_FOUND: Final = "NOT_FOUND"
    CONFLICT: Final = "CONFLICT"
    UNIQUE_VIOLATION: Final = "23505"  # a duplicate; clients of Postgres know this code
    STALE_ATTEMPT: Final = "STALE_ATTEMPT"  # a report about a run that is over; recorded, without effect
    ENDED_LONG_AGO: Final = "ENDED_LONG_AGO"  # the work ended, and its writer has forgotten it
    NO_TESTS_LEFT: Final = "NO_TESTS_LEFT"  # the user has used up their analyses
    PAST_SCHEDULE: Final = "PAST_SCHEDULE"  # the requested time has passed; recorded, without effect
    FORBIDDEN: Final = "FORBIDDEN"
    RATE_LIMITED: Final = "RATE_LIMITED"
    IDEMPOTENCY_MISMATCH: Final = "IDEMPOTENCY_MISMATCH"  # an idempotency key was used again, with another body
    TOO_LARGE: Final = "TOO_LARGE"
    OVERLOADED: Final = "OVERLOADED"  # the writer's queue of commands is full: retry later
    LOG_FULL: Final = "LOG_FULL"  # the log has no room, and nothing was changed: retry later
    UNAVAILABLE: Final = "UNAVAILABLE"  # no answer before the deadline; the command may still take effect
    NOT_LEADER: Final = "NOT_LEADER"  # this writer's term is over: retry, the next leader answers
    INTERNAL: Final = "INTERNAL"


RETRY_LATER: Final = frozenset({Code.OVERLOADED, Code.LOG_FULL, Code.UNAVAILABLE, Code.NOT_LEADER})
"""The refusals that say nothing about the command: the same command, with the same id, may succeed later."""
