"""Rows of sessions, active and ended."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.identity.events import RefreshRotated, SessionArchived, SessionEnded, SessionStarted
from drover.postgres.types import uuid_of
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules, change_no_row
from drover.projector.identity.accounts import change_account
from drover.readmodel.identity import ACCOUNTS, SESSIONS, SessionRow


def _started(tables: Tables, event: SessionStarted) -> None:
    row = SessionRow(
        uuid_of(event.session_id),
        uuid_of(event.account_id),
        event.user_agent,
        event.at,
        event.at,
        event.expires_at,
    )
    tables.put(SESSIONS, row)
    change_account(tables, event.account_id, last_sign_in_at=event.at)


def _rotated(tables: Tables, event: RefreshRotated) -> None:
    change(tables, SESSIONS, uuid_of(event.session_id), last_used_at=event.at, expires_at=event.expires_at)


def _ended(tables: Tables, event: SessionEnded) -> None:
    change(tables, SESSIONS, uuid_of(event.session_id), ended_at=event.at, reason=event.reason)


def _entities(event: Any) -> tuple[str, ...]:
    return (event.session_id, event.account_id)


_OWN = ((SESSIONS, lambda e: uuid_of(e.session_id)),)

SESSION_RULES: Final[Rules] = {
    SessionStarted: Rule(_started, _entities, ((ACCOUNTS, lambda e: uuid_of(e.account_id)),)),
    RefreshRotated: Rule(_rotated, _entities, _OWN),
    SessionEnded: Rule(_ended, _entities, _OWN),
    SessionArchived: Rule(change_no_row, lambda e: (e.session_id,)),
}
