"""What every context has a table of: events and alerts, read as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drover.domain.contexts import CONTEXTS
from drover.web.postgrest.relation import PgType, Relation


def _united(name: str, columns: Mapping[str, PgType], *, order: tuple[str, ...]) -> Relation:
    return Relation(
        name=name,
        schema="",
        context="",
        columns={"context": PgType.TEXT, **columns},
        order=order,
        united=CONTEXTS,
    )


ALERTS: Final = _united(
    "alerts",
    {
        "id": PgType.TEXT,
        "kind": PgType.TEXT,
        "subject": PgType.TEXT,
        "message": PgType.TEXT,
        "details": PgType.JSONB,
        "raised_at": PgType.TIMESTAMPTZ,
        "until": PgType.TIMESTAMPTZ,
        "resolved_at": PgType.TIMESTAMPTZ,
        "reason": PgType.TEXT,
    },
    order=("id",),
)
EVENTS: Final = _united(
    "events",
    {
        "seq": PgType.BIGINT,
        "line": PgType.INTEGER,
        "n": PgType.BIGINT,
        "at": PgType.TIMESTAMPTZ,
        "type": PgType.TEXT,
        "by": PgType.TEXT,
        "cause": PgType.TEXT,
        "trace": PgType.TEXT,
        "entities": PgType.TEXT_ARRAY,
        "data": PgType.JSONB,
    },
    order=("at", "context", "seq", "line"),
)
