"""Identity's projection put together. What its events say stays out of `events`: a row names type and ids, no more."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from drover.domain.event import TermStarted
from drover.domain.identity import IDENTITY
from drover.domain.identity.events import IdentityEvent
from drover.eventlog.codec import Codec
from drover.projection.alert_table import ALERT_RULES, ALERTS, ALERTS_DDL
from drover.projection.event_table import EVENTS, EVENTS_DDL, append_event, jsonb_text
from drover.projection.projection import Position, Projection, Tables
from drover.projection.rule import Rule, Rules
from drover.projector.identity.accounts import ACCOUNT_RULES, ACCOUNTS
from drover.projector.identity.sessions import SESSION_RULES, SESSIONS

NO_DATA: Final = "{}"

_CODEC: Final = Codec(IdentityEvent, IDENTITY.upcasters)
_NUL: Final = "\\u0000"
_TABLES: Final = (files("drover.projector.identity") / "tables.sql").read_text(encoding="utf-8")


def _term_started(tables: Tables, event: TermStarted) -> None:
    """A change of writer is an event to show, and nothing more."""


RULES: Final[Rules] = {
    TermStarted: Rule(_term_started, lambda e: ()),
    **ACCOUNT_RULES,
    **SESSION_RULES,
    **ALERT_RULES,
}


def fold(tables: Tables, event: Any, raw: str, position: Position) -> None:
    if _NUL in raw:  # Postgres has none in text: the read model shows U+FFFD in its place
        (event,) = _CODEC.decode(jsonb_text(raw).encode() + b"\n")
    rule = RULES[type(event)]
    append_event(tables, event, rule.entities(event), NO_DATA, position)
    rule.apply(tables, event)


IDENTITY_PROJECTION: Final = Projection(
    context="identity",
    name="identity",
    schema="rm_identity",
    ddl=EVENTS_DDL + ALERTS_DDL + _TABLES,
    tables=(ACCOUNTS, SESSIONS, ALERTS, EVENTS),
    fold=fold,
    reads={type_: rule.reads for type_, rule in RULES.items()},
    events=IdentityEvent,
    upcasters=IDENTITY.upcasters,
    version=2,
)
