"""What a write answers with when the client asked to see it: what its command recorded, by the names of a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from aiohttp import web

from drover.gateway.roster import RosterDevice
from drover.web.errors import ApiError, encode_json
from drover.web.postgrest.ast import Column, Embed, Item
from drover.web.postgrest.prefer import Preferences
from drover.web.postgrest.relation import Relation
from drover.web.postgrest.respond import OBJECT_TYPE, choose_media

Row = dict[str, Any]


def check_select(select: Sequence[Item], relation: Relation) -> None:
    """Before anything is written: a column that is not there must not turn a write that was done into a 400."""
    for item in select:
        if isinstance(item, Embed):
            raise ApiError(400, "PGRST200", f"A write of '{relation.name}' embeds no other relation")
        if isinstance(item, Column) and item.name not in relation.columns:
            raise ApiError(400, "42703", f"column {relation.name}.{item.name} does not exist")


def check_media(rows: int, preferences: Preferences, headers: Mapping[str, str]) -> None:
    """Likewise: what cannot be shown as it was asked for is refused before it is done."""
    if preferences.representation and choose_media(headers) == "object" and rows != 1:
        details = f"The result contains {rows} rows"
        raise ApiError(406, "PGRST116", "Cannot coerce the result to a single JSON object", details=details)


def device_row(device: RosterDevice, *, last_seen_at: datetime | None) -> Row:
    return {
        "id": device.id,
        "serial_number": device.serial_number,
        "group_id": device.group_id,
        "pc_id": device.pc_id,
        "status": device.status,
        "capabilities": device.capabilities,
        "last_seen_at": last_seen_at,
        "created_at": device.created_at,
        "updated_at": device.updated_at,
    }


def answer_update(
    rows: list[Row] | None, preferences: Preferences, headers: Mapping[str, str], *, select: Sequence[Item] = ()
) -> web.Response:
    """204, or 200 with the rows."""
    return _answer(204 if rows is None else 200, rows, preferences, headers, select, {})


def answer_creation(
    rows: list[Row],
    preferences: Preferences,
    headers: Mapping[str, str],
    *,
    select: Sequence[Item] = (),
    extra: Mapping[str, str],
) -> web.Response:
    """201, with the rows where they were asked for."""
    return _answer(201, rows if preferences.representation else None, preferences, headers, select, extra)


def _answer(
    status: int,
    rows: list[Row] | None,
    preferences: Preferences,
    headers: Mapping[str, str],
    select: Sequence[Item],
    extra: Mapping[str, str],
) -> web.Response:
    applied = {"Preference-Applied": preferences.applied} if preferences.applied else {}
    if rows is None:
        return web.Response(status=status, headers={**applied, **extra})
    shown = [_selected(row, select) for row in rows]
    single = choose_media(headers) == "object"
    return web.Response(
        body=encode_json(shown[0] if single else shown),
        status=status,
        headers={**applied, **extra},
        content_type=OBJECT_TYPE if single else "application/json",
        charset="utf-8",
    )


def _selected(row: Row, select: Sequence[Item]) -> Row:
    if not select:
        return row
    shown: Row = {}
    for item in select:
        if isinstance(item, Column):
            shown[item.alias or item.name] = row.get(item.name)  # null: what the command does not say
        else:
            shown.update(row)
    return shown
