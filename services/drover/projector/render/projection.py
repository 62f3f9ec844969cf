"""The render queue's projection put together: every type of event has its rule, every table its place."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from drover.domain.event import TermStarted
from drover.domain.render import RENDER
from drover.domain.render.events import QueueEvent, RenderRequested
from drover.eventlog.codec import Codec
from drover.projection.alert_table import ALERT_RULES, ALERTS, ALERTS_DDL
from drover.projection.event_table import EVENTS, EVENTS_DDL, append_event, jsonb_text
from drover.projection.projection import Position, Projection, Tables, need
from drover.projection.rule import Rule, Rules
from drover.projector.render.audit import AUDIT, append_change
from drover.projector.render.mapping import COMPOSITIONS, FIELDS, MAPPING_RULES
from drover.projector.render.queue import GFX, RENDER_RULES, RENDERS

_CODEC: Final = Codec(QueueEvent, RENDER.upcasters)
_NUL: Final = "\\u0000"
_FILES: Final = files("drover.projector.render")


def _sql(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _term_started(tables: Tables, event: TermStarted) -> None:
    """A change of writer is an event to show, and nothing more."""


RULES: Final[Rules] = {
    TermStarted: Rule(_term_started, lambda e: ()),
    **RENDER_RULES,
    **MAPPING_RULES,
    **ALERT_RULES,
}
_CHANGES: Final = frozenset(type_ for type_, rule in RENDER_RULES.items() if rule.reads)
"""Events after which a render may have another status."""


def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
    if _NUL in raw:  # Postgres has none in text: the read model shows U+FFFD in its place
        raw = jsonb_text(raw)
        (event,) = _CODEC.decode(raw.encode() + b"\n")
    type_ = type(event)
    apply, entities, _ = RULES[type_]
    append_event(tables, event, entities(event), raw, position)
    if type_ not in _CHANGES:
        apply(tables, event)
        return
    before = None if type_ is RenderRequested else need(tables, RENDERS, event.render_id)
    apply(tables, event)
    append_change(tables, event, before, need(tables, RENDERS, event.render_id), position)


RENDER_PROJECTION: Final = Projection(
    context="render",
    name="render",
    schema="rm_render",
    ddl=EVENTS_DDL + ALERTS_DDL + _sql("tables.sql") + _sql("views.sql"),
    tables=(RENDERS, COMPOSITIONS, FIELDS, ALERTS, EVENTS, GFX, AUDIT),
    fold=fold,
    reads={type_: rule.reads for type_, rule in RULES.items()},
    events=QueueEvent,
    upcasters=RENDER.upcasters,
    version=2,
)
