"""Identity's projection put together. What its events say stays out of `events`: a row names type and ids, no more."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.identity import IDENTITY
from drover.projection.alert_table import ALERTS
from drover.projection.context_projection import context_projection, context_rules
from drover.projection.event_table import EVENTS
from drover.projector.identity.accounts import ACCOUNT_RULES, ACCOUNTS
from drover.projector.identity.sessions import SESSION_RULES, SESSIONS

NO_DATA: Final = "{}"

RULES: Final = context_rules(ACCOUNT_RULES, SESSION_RULES)


def _nothing(event: Any, raw: str) -> str:
    return NO_DATA


IDENTITY_PROJECTION: Final = context_projection(
    IDENTITY,
    "drover.projector.identity",
    rules=RULES,
    tables=(ACCOUNTS, SESSIONS, ALERTS, EVENTS),
    sql=("tables.sql",),
    shown=_nothing,
    version=2,
)
