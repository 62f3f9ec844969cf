"""Who wants to know what agents do with their work. Nothing that an agent does depends on it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol

from drover.simulator.protocol import Answer, Offer, Report


class End(StrEnum):
    """How a run ended, as its agent sees it."""

    COMPLETED = "completed"
    FAILED = "failed"
    STALE = "stale"
    """The platform had taken it back: 409 STALE_ATTEMPT."""
    OVER = "over"
    """The platform says that it has ended, though the agent had not: 409 to a report of progress."""
    GONE = "gone"
    """404."""
    REFUSED = "refused"
    """Another answer that no repetition would change."""
    WITHDRAWN = "withdrawn"
    DROPPED = "dropped"
    """The verdict on a reconnect."""
    SUPERSEDED = "superseded"
    """A later run of the same assignment came."""


class Observer(Protocol):
    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None: ...

    def resumed(self, offer: Offer) -> None:
        """Taken up again from the store, by a new agent."""
        ...

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        """`said` is its final report, if it came to that, whether or not it was taken."""
        ...


class NotObserved:
    """Nobody wants to know."""

    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None: ...

    def resumed(self, offer: Offer) -> None: ...

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None: ...


NOT_OBSERVED: Final = NotObserved()
