"""All read models and all their relations, by name."""

from __future__ import annotations

from typing import Final

from drover.domain.by_context import parts_in
from drover.readmodel.live import LiveRelation
from drover.readmodel.model import ReadModel
from drover.readmodel.relation import Relation
from drover.readmodel.united import ALERTS, EVENTS

READ_MODELS: Final[tuple[ReadModel, ...]] = parts_in("readmodel")
RELATIONS: Final[dict[str, Relation]] = {
    relation.name: relation for model in READ_MODELS for relation in model.relations
} | {relation.name: relation for relation in (ALERTS, EVENTS)}
"""The relations that clients can read at `/rest/v1`."""


def _by_name() -> dict[str, tuple[LiveRelation, ...]]:
    found: dict[str, tuple[LiveRelation, ...]] = {}
    for live in (live for model in READ_MODELS for live in model.live):
        found[live.name] = (*found.get(live.name, ()), live)
    return found


LIVE: Final = _by_name()
"""By name, the relations whose changes `/api/stream` publishes: one for each context that has the relation."""
LIVE_CONTEXTS: Final = tuple(model.context for model in READ_MODELS if model.live)
