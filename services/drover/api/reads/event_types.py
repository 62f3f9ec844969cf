"""Which types of events each context has: a search by type asks only where there can be any."""

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
"""Most of every log. Who has events at all has some of these, so among somebody's own they are soon found; an index
has so many of them that it is no help."""
