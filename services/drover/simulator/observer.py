"""Observers of what agents do with their work. They do not affect the agents."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol

from drover.simulator.protocol import Answer, Offer, Report


class End(StrEnum):
    """How a run ended, as its agent sees it."""

    COMPLETED = "completed"
    FAILED = "failed"
    STALE = "stale"
    """The platform had withdrawn the run: 409 STALE_ATTEMPT."""
    OVER = "over"
    """The platform says that the run has ended, but the agent did not end it: 409 to a progress report."""
    GONE = "gone"
    """The platform does not know the run: 404."""
    REFUSED = "refused"
    """Another refusal that a retry would not change."""
    WITHDRAWN = "withdrawn"
    DROPPED = "dropped"
    """The platform's verdict after a reconnect was to drop the run."""
    SUPERSEDED = "superseded"
    """A later run of the same assignment replaced the run."""


class Observer(Protocol):
    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None: ...

    def resumed(self, offer: Offer) -> None:
        """A new agent resumed the run from the store."""
        ...

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        """`said`: its final report, if there was one, accepted or not."""
        ...


class NotObserved:
    """An observer that does nothing."""

    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None: ...

    def resumed(self, offer: Offer) -> None: ...

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None: ...


NOT_OBSERVED: Final = NotObserved()
