"""Observers, which are told what agents do with their work. They do not affect the agents."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol

from drover.agent.protocol import Answer, Offer, Report


class End(StrEnum):
    """How a run ended, as its agent sees it."""

    COMPLETED = "completed"
    FAILED = "failed"
    STALE = "stale"
    """The platform has withdrawn the run: it answered 409 STALE_ATTEMPT."""
    OVER = "over"
    """The run has ended, though its agent did not end it: the platform answered 409 to a progress report."""
    GONE = "gone"
    """The platform does not know the run: it answered 404."""
    REFUSED = "refused"
    """The platform refused a report in another way, which a retry would not change."""
    WITHDRAWN = "withdrawn"
    DROPPED = "dropped"
    """After a reconnect, the platform told the agent to drop the run."""
    SUPERSEDED = "superseded"
    """A later run of the same assignment replaced the run."""


class Observer(Protocol):
    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None: ...

    def resumed(self, offer: Offer) -> None:
        """Called when an agent resumes a stored run after a crash."""
        ...

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        """Called when a run ends. `said`: its final report, accepted or not; None if it sent none."""
        ...


class NotObserved:
    """An observer that does nothing."""

    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None: ...

    def resumed(self, offer: Offer) -> None: ...

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None: ...


NOT_OBSERVED: Final = NotObserved()
