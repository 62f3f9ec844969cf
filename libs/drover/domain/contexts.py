"""The list of contexts: each has one stream, one decider and one read model.

A new context needs one line here; its decider, read model and projection are found by its name (`by_context.py`).
Tests name whatever else is missing.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Context(msgspec.Struct, frozen=True):
    name: str
    is_private: bool = False
    """Whether only its decider may see its events. Everybody else sees only their types and ids."""
    hidden_fields: frozenset[str] = frozenset()
    """Fields of its events that only its own services see: texts that users wrote, and sealed (encrypted) values."""
    has_subjects: bool = False
    """Whether its events have personal data. Such data is sealed (encrypted) with a key of the person or thing that it
    is about (`domain.erasure`)."""


REGISTRY: Final = {
    context.name: context
    for context in (
        Context("fleet"),
        Context("render", has_subjects=True),
        Context("analysis"),
        Context("identity", is_private=True, has_subjects=True),
        Context("reminder", hidden_fields=frozenset({"title", "body", "sealed"}), has_subjects=True),
    )
}
CONTEXTS: Final = tuple(REGISTRY)
SUBJECT_CONTEXTS: Final = tuple(name for name, context in REGISTRY.items() if context.has_subjects)


def context_named(name: str) -> Context:
    """Return the context of this name. For an unregistered name, as in tests, make a context without hidden fields."""
    return REGISTRY.get(name) or Context(name)
