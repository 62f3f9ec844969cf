"""How a call to nexrender can fail. Each error carries what is known; what is done about it is up to the worker."""

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
    """Nobody is there, or there is trouble with them: no connection, no answer in time, 5xx, a line that broke.

    The call may still have taken effect. Look for the job before submitting it again.
    """

    outcome = "down"

    def __init__(self, call: str, reason: str, status: int | None = None) -> None:
        self.reason = reason
        self.status = status
        super().__init__(call, reason if status is None else f"it answered {status}: {reason}")


class NexrenderRefused(NexrenderError):
    """It answered that it will not: 4xx. The same call would be refused again."""

    outcome = "refused"

    def __init__(self, call: str, status: int, text: str) -> None:
        self.status = status
        self.text = text
        super().__init__(call, f"it refused with {status}: {text}" if text else f"it refused with {status}")


class NexrenderForbidden(NexrenderRefused):
    """The secret is not the one that nexrender was started with."""

    outcome = "forbidden"


class NexrenderConfused(NexrenderError):
    """What answered does not speak as nexrender does: no JSON, a redirect, an endless body. Is the address right?"""

    outcome = "confused"

    def __init__(self, call: str, reason: str) -> None:
        self.reason = reason
        super().__init__(call, reason)
