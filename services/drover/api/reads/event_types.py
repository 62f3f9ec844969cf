"""The event types of each context, so that a search by type queries only contexts that have the type."""

from __future__ import annotations

from typing import Final, get_args

from drover.domain.deciders import DECIDERS

TYPES: Final = {
    context: frozenset(type_.__name__ for type_ in get_args(decider.events)) for context, decider in DECIDERS.items()
}
ALL: Final = tuple(sorted(frozenset().union(*TYPES.values())))
EVERYDAY: Final = frozenset(
    {
        "AttemptCreated",
        "AttemptSent",
        "AttemptStarted",
        "AttemptProgressed",
        "AttemptSucceeded",
        "RenderProgressed",
        "LeaseRenewed",
        "AlarmScheduled",
        "AlarmDispatched",
        "AlarmSent",
        "RefreshRotated",
    }
)
"""The most frequent event types. A search by entity and one of these types filters the events of the entity, because an
index on the type would return too many rows."""
