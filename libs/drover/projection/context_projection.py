"""Builds the projection of one context from the rules of its tables and those that all contexts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from drover.domain.decider import Decider
from drover.domain.event import TermStarted
from drover.eventlog.codec import Codec
from drover.projection.alert_table import ALERT_RULES
from drover.projection.event_table import append_event, jsonb_text
from drover.projection.projection import Fold, Position, Projection, Reads, Tables
from drover.projection.rule import Rule, Rules
from drover.readmodel.model import ReadModel

Apply: TypeAlias = Callable[[Tables, Any], None]
Follow: TypeAlias = Callable[[Tables, Any, Position, Apply], None]
"""Applies the rule of an event by calling `Apply`, and does the context's own work before or after it."""
Shown: TypeAlias = Callable[[Any, str], str]
"""Returns the JSON that the table `events` shows of an event: all of it, or less."""

_NUL: Final = "\\u0000"


def context_rules(*parts: Rules) -> Rules:
    """Return the rules of a context's own tables plus those of the tables that every context has."""
    rules: dict[type, Rule] = {TermStarted: Rule(_term_started, lambda event: ())}
    for part in (*parts, ALERT_RULES):
        rules.update(part)
    return rules


def context_projection(
    decider: Decider[Any],
    model: ReadModel,
    *,
    rules: Rules,
    follow: Follow | None = None,
    shown: Shown | None = None,
    reads: Reads | None = None,
) -> Projection:
    """Make the projection of a context.

    `reads`: by event type, rows that the rules read in addition to those that they list.
    """
    context = decider.context
    return Projection(
        context=context,
        name=context,
        schema=model.schema,
        ddl=model.ddl,
        tables=model.tables,
        fold=_fold(decider, rules, follow or _apply_alone, shown or _all_of_it),
        reads=_reads(rules, reads or {}),
        events=decider.events,
        upcasters=decider.upcasters,
        live=model.live,
        reader_views=model.reader_views,
        version=model.version,
    )


def _fold(decider: Decider[Any], rules: Rules, follow: Follow, shown: Shown) -> Fold:
    codec = Codec.of(decider)

    def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
        if _NUL in raw:  # Postgres cannot store NUL in text: the read model shows U+FFFD instead
            raw = jsonb_text(raw)
            (event,) = codec.decode(raw.encode() + b"\n")
        apply, entities, _ = rules[type(event)]
        append_event(tables, event, entities(event), shown(event, raw), position)
        follow(tables, event, position, apply)

    return fold


def _reads(rules: Rules, more: Reads) -> Reads:
    found: Mapping[type, Any] = {type_: (*rule.reads, *more.get(type_, ())) for type_, rule in rules.items()}
    return found


def _term_started(tables: Tables, event: TermStarted) -> None:
    """Change no row: a change of the writer is only shown in `events`."""


def _apply_alone(tables: Tables, event: Any, position: Position, apply: Apply) -> None:
    apply(tables, event)


def _all_of_it(event: Any, raw: str) -> str:
    return raw
