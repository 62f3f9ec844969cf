"""Assembles the projection of analyses: a rule for every event type, and all tables."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.analysis import ANALYSIS
from drover.projection.context_projection import Apply, context_projection, context_rules
from drover.projection.projection import Position, Tables
from drover.projector.analysis.ledger import append_entry
from drover.projector.analysis.runs import RUN_RULES, append_found
from drover.projector.analysis.tests import TEST_RULES
from drover.projector.analysis.users import USER_RULES
from drover.readmodel.analysis import ANALYSIS as READ_MODEL

RULES: Final = context_rules(USER_RULES, TEST_RULES, RUN_RULES)


def _follow(tables: Tables, event: Any, position: Position, apply: Apply) -> None:
    apply(tables, event)
    append_entry(tables, event, position)
    append_found(tables, event, position)


ANALYSIS_PROJECTION: Final = context_projection(
    ANALYSIS,
    READ_MODEL,
    rules=RULES,
    follow=_follow,
)
