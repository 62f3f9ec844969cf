"""The event types of each context: a search by type only asks contexts that have it."""

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
"""The types of most events. Every entity has some of them, so filtering its events finds them fast, while an index on
the type would return too many to help."""
