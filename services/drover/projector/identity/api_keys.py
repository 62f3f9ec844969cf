"""Rows of API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from drover.domain.identity.events import ApiKeyAdopted, ApiKeyCreated, ApiKeyExpired, ApiKeyReplaced, ApiKeyRevoked
from drover.postgres.types import uuid_of
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules, change_no_row
from drover.readmodel.identity import API_KEY_ENDS, API_KEYS, ApiKeyEndRow, ApiKeyRow


def _row(event: ApiKeyCreated | ApiKeyAdopted, *, replaces: str | None = None) -> ApiKeyRow:
    return ApiKeyRow(
        id=uuid_of(event.key_id),
        name=event.name,
        role=event.role,
        created_at=event.at,
        created_by=event.by,
        expires_at=event.expires_at,
        adopted=isinstance(event, ApiKeyAdopted),
        device_id=_optional(event.device_id),
        replaces=_optional(replaces),
    )


def _optional(text: str | None) -> UUID | None:
    return None if text is None else uuid_of(text)


def _created(tables: Tables, event: ApiKeyCreated) -> None:
    tables.put(API_KEYS, _row(event, replaces=event.replaces))


def _adopted(tables: Tables, event: ApiKeyAdopted) -> None:
    tables.put(API_KEYS, _row(event))


def _replaced(tables: Tables, event: ApiKeyReplaced) -> None:
    successor_id = uuid_of(event.successor_id)
    change(tables, API_KEYS, uuid_of(event.key_id), successor_id=successor_id, ends_at=event.ends_at)


def _revoked(tables: Tables, event: ApiKeyRevoked) -> None:
    end_key(tables, event.key_id, event.at, event.reason)


def end_key(tables: Tables, key_id: str, at: datetime, reason: str) -> None:
    tables.put(API_KEY_ENDS, ApiKeyEndRow(id=uuid_of(key_id), revoked_at=at, reason=reason))


def _entities(event: Any) -> tuple[str, ...]:
    return (event.key_id,)


def _with_device(event: Any) -> tuple[str, ...]:
    return (event.key_id,) if event.device_id is None else (event.key_id, event.device_id)


_OWN: Final = ((API_KEYS, lambda e: uuid_of(e.key_id)),)

API_KEY_RULES: Final[Rules] = {
    ApiKeyCreated: Rule(_created, _with_device),
    ApiKeyAdopted: Rule(_adopted, _with_device),
    ApiKeyReplaced: Rule(_replaced, _entities, _OWN),
    ApiKeyRevoked: Rule(_revoked, _entities),
    ApiKeyExpired: Rule(change_no_row, _entities),  # its row says when it expires
}
