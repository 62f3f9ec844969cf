"""Passes the fleet's events to the sockets of the agents concerned: one lookup for each event, however many sockets
there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drover.domain.fleet.events import (
    AssignmentCancelled,
    AssignmentEvent,
    AttemptCancelled,
    AttemptCreated,
    AttemptEvent,
    AttemptFailed,
    AttemptRolledBack,
    AttemptSucceeded,
    AttemptTimedOut,
    FleetEvent,
)
from drover.gateway.agent_delivery import DeliveryContext
from drover.gateway.agent_protocol import Over
from drover.gateway.agent_registry import Registry
from drover.gateway.roster import Roster

_OVER: Final[dict[type, Over | None]] = {
    AttemptTimedOut: Over.TIMED_OUT,
    AttemptRolledBack: Over.ROLLED_BACK,
    AttemptCancelled: Over.CANCELLED,
    AssignmentCancelled: Over.CANCELLED,
    AttemptFailed: Over.FAILED,
    AttemptSucceeded: None,  # only its agent can have reported it
}
"""The event types that end a run, each with the reason that is sent to the agent if the agent did not end the run
itself. None: nothing is sent."""


class Dispatch:
    """Passes the events of each commit to the agents concerned, after the roster has applied them."""

    def __init__(self, roster: Roster, registry: Registry, context: DeliveryContext) -> None:
        self._roster = roster
        self._registry = registry
        self._context = context

    def hear(self, events: Sequence[FleetEvent]) -> None:
        if not self._registry:
            return
        for event in events:
            if type(event) is AttemptCreated:
                self._created(event)
            elif type(event) in _OVER:
                assert isinstance(event, AssignmentEvent)
                self._over(event, _OVER[type(event)])

    def _created(self, event: AttemptCreated) -> None:
        device = self._roster.fleet.devices[event.device_id]
        session = self._registry.session_for(device)
        if session is not None:
            session.offer_what_waits(device)

    def _over(self, event: AssignmentEvent, reason: Over | None) -> None:
        deliveries = self._context.holder.get(event.assignment_id)
        if deliveries is not None:
            deliveries.over(event.assignment_id, event.run if isinstance(event, AttemptEvent) else None, reason)
