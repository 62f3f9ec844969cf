"""Which contexts there are: each has one stream, one decider (`deciders.py`) and one read model.

A new context is one line here and one there; tests then name what else it lacks.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Context(msgspec.Struct, frozen=True):
    name: str
    is_private: bool = False
    """What its events say is for its decider alone: nobody is told more than type and ids."""
    hidden_fields: frozenset[str] = frozenset()
    """Fields of its events that only its own services see: users' own words, and what is sealed."""


REGISTRY: Final = {
    context.name: context
    for context in (
        Context("fleet"),
        Context("render"),
        Context("analysis"),
        Context("identity", is_private=True),
        Context("reminder", hidden_fields=frozenset({"title", "body", "sealed"})),
    )
}
CONTEXTS: Final = tuple(REGISTRY)


def context_named(name: str) -> Context:
    """One that is not registered has nothing to hide: tests make contexts of their own."""
    return REGISTRY.get(name) or Context(name)
