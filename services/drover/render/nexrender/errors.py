"""Errors of calls to nexrender. The worker decides what to do about them."""

from __future__ import annotations

from typing import ClassVar

from drover.domain.errors import DroverError


class NexrenderError(DroverError):
    """A call to nexrender failed."""

    outcome: ClassVar[str]
    """The label of this failure in metrics."""

    def __init__(self, call: str, text: str) -> None:
        self.call = call
        super().__init__(f"nexrender, {call}: {text}")


class NexrenderDown(NexrenderError):
    """nexrender is unreachable or failing: no connection, a broken one, no answer in time, 5xx, 408, 425 or 429.

    The call may still have taken effect. Look for the job before submitting it again.
    """

    outcome = "down"

    def __init__(self, call: str, reason: str, status: int | None = None) -> None:
        self.reason = reason
        self.status = status
        super().__init__(call, reason if status is None else f"it answered {status}: {reason}")


class NexrenderRefused(NexrenderError):
    """nexrender refused a call with a 4xx that is not temporary. The same call would be refused again."""

    outcome = "refused"

    def __init__(self, call: str, status: int, text: str) -> None:
        self.status = status
        self.text = text
        super().__init__(call, f"it refused with {status}: {text}" if text else f"it refused with {status}")


class NexrenderForbidden(NexrenderRefused):
    """The secret differs from the one that nexrender was started with."""

    outcome = "forbidden"


class NexrenderConfused(NexrenderError):
    """The answer is not one of nexrender's: not JSON, a redirect, an endless body. The address may be wrong."""

    outcome = "confused"

    def __init__(self, call: str, reason: str) -> None:
        self.reason = reason
        super().__init__(call, reason)
