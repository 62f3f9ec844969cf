"""Which contexts there are: each has one stream, one decider, one read model."""

from __future__ import annotations

from typing import Final

CONTEXTS: Final = ("fleet", "render", "analysis", "identity", "reminder")
PRIVATE: Final = frozenset({"identity"})
"""What their events say is for their decider alone: nobody is told more than type and ids."""
UNTOLD: Final = {"reminder": frozenset({"title", "body", "sealed"})}
"""By context, fields of events that only its own services see: users' own words, and what is sealed."""
