"""What can be read at `/rest/v1`: names, columns and types, as the fleet's projection makes them."""

from __future__ import annotations

from typing import Final

from drover.web.postgrest.relation import PgType, Relation

DEVICES: Final = Relation(
    name="devices",
    schema="rm_fleet",
    context="fleet",
    columns={
        "id": PgType.UUID,
        "serial_number": PgType.TEXT,
        "group_id": PgType.TEXT,
        "pc_id": PgType.TEXT,
        "status": PgType.TEXT,
        "capabilities": PgType.TEXT_ARRAY,
        "last_seen_at": PgType.TIMESTAMPTZ,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    order=("id",),
)
PCS: Final = Relation(
    name="pcs",
    schema="rm_fleet",
    context="fleet",
    columns={
        "id": PgType.TEXT,
        "capacity": PgType.INTEGER,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "devices": PgType.BIGINT,
        "online": PgType.BIGINT,
        "offline": PgType.BIGINT,
        "busy": PgType.BIGINT,
        "error": PgType.BIGINT,
    },
    order=("id",),
)
EVENTS: Final = Relation(
    name="events",
    schema="rm_fleet",
    context="fleet",
    columns={
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
    order=("seq", "line"),
)

RELATIONS: Final = {relation.name: relation for relation in (DEVICES, PCS, EVENTS)}
