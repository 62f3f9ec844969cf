"""Assembles the projection of the render queue: a rule for every event type, and all tables."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.render import RENDER
from drover.domain.render.events import RenderRequested
from drover.projection.context_projection import Apply, context_projection, context_rules
from drover.projection.projection import Position, Tables, need
from drover.projector.render.attempts import append_attempt
from drover.projector.render.audit import append_change
from drover.projector.render.mapping import MAPPING_RULES
from drover.projector.render.queue import RENDER_RULES
from drover.readmodel.render import RENDER as READ_MODEL
from drover.readmodel.render.queue import RENDERS

RULES: Final = context_rules(RENDER_RULES, MAPPING_RULES)
_CHANGES: Final = frozenset(type_ for type_, rule in RENDER_RULES.items() if rule.reads)
"""Types of events about one render that its row or its histories show."""


def _follow(tables: Tables, event: Any, position: Position, apply: Apply) -> None:
    type_ = type(event)
    if type_ not in _CHANGES:
        apply(tables, event)
        return
    before = None if type_ is RenderRequested else need(tables, RENDERS, event.render_id)
    apply(tables, event)
    after = need(tables, RENDERS, event.render_id)
    append_change(tables, event, before, after, position)
    append_attempt(tables, event, before, after, position)


RENDER_PROJECTION: Final = context_projection(
    RENDER,
    READ_MODEL,
    rules=RULES,
    follow=_follow,
)
