"""The projection of analyses put together: every type of event has its rule, every table its place."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.events import AnalysisEvent
from drover.domain.event import TermStarted
from drover.eventlog.codec import Codec
from drover.projection.alert_table import ALERT_RULES, ALERTS, ALERTS_DDL
from drover.projection.event_table import EVENTS, EVENTS_DDL, append_event, jsonb_text
from drover.projection.projection import Position, Projection, Tables
from drover.projection.rule import Rule, Rules
from drover.projector.analysis.ledger import LEDGER, append_entry
from drover.projector.analysis.runs import RUN_RULES, RUN_TESTS, RUNS, append_found
from drover.projector.analysis.tests import TEST_RULES, TESTS
from drover.projector.analysis.users import USER_RULES, USERS

_CODEC: Final = Codec(AnalysisEvent, ANALYSIS.upcasters)
_NUL: Final = "\\u0000"
_FILES: Final = files("drover.projector.analysis")


def _sql(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _term_started(tables: Tables, event: TermStarted) -> None:
    """A change of writer is an event to show, and nothing more."""


RULES: Final[Rules] = {
    TermStarted: Rule(_term_started, lambda e: ()),
    **USER_RULES,
    **TEST_RULES,
    **RUN_RULES,
    **ALERT_RULES,
}


def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
    if _NUL in raw:  # Postgres has none in text: the read model shows U+FFFD in its place
        raw = jsonb_text(raw)
        (event,) = _CODEC.decode(raw.encode() + b"\n")
    apply, entities, _ = RULES[type(event)]
    append_event(tables, event, entities(event), raw, position)
    apply(tables, event)
    append_entry(tables, event, position)
    append_found(tables, event, position)


ANALYSIS_PROJECTION: Final = Projection(
    context="analysis",
    name="analysis",
    schema="rm_analysis",
    ddl=EVENTS_DDL + ALERTS_DDL + _sql("tables.sql") + _sql("views.sql"),
    tables=(USERS, TESTS, RUNS, RUN_TESTS, LEDGER, ALERTS, EVENTS),
    fold=fold,
    reads={type_: rule.reads for type_, rule in RULES.items()},
    events=AnalysisEvent,
    upcasters=ANALYSIS.upcasters,
    version=2,
)
