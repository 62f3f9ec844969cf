"""All read models, and all that can be read in them, by name."""

from __future__ import annotations

from typing import Final

from drover.readmodel.analysis import ANALYSIS
from drover.readmodel.fleet import FLEET
from drover.readmodel.identity import IDENTITY
from drover.readmodel.relation import Relation
from drover.readmodel.reminder import REMINDER
from drover.readmodel.render import RENDER
from drover.readmodel.united import ALERTS, EVENTS

READ_MODELS: Final = (FLEET, RENDER, ANALYSIS, IDENTITY, REMINDER)
RELATIONS: Final[dict[str, Relation]] = {
    relation.name: relation for model in READ_MODELS for relation in model.relations
} | {relation.name: relation for relation in (ALERTS, EVENTS)}
"""What can be read at `/rest/v1`."""
