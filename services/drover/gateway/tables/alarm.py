"""Writes of `alarm`, the reminders of document 004: by apps, which set alarms, and by senders of the users' own, which
send them.

Such a sender claims an alarm by writing `processed_at`, releases it by writing null, and reports a sending by writing a
`sent_count` that is one higher. The writer decides these commands, and checks that the row still matches the filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from drover.bus.messages import Accepted, Rejected
from drover.domain.reminder.commands import AddAlarm, AlarmRow, AlarmSeen, ChangeAlarm, DeleteAlarm
from drover.domain.reminder.policy import SENT_COUNT_FIRST
from drover.domain.reminder.texts import cut
from drover.domain.spec import fields_of
from drover.gateway.rows import Row
from drover.gateway.tables.user_info import client_of
from drover.gateway.writes.declaration import (
    Delete,
    Insert,
    Merge,
    Result,
    Target,
    Update,
    WriteTable,
    can_change,
    refuse_empty,
)
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.gateway.writes.shown import recorded, stored
from drover.readmodel.models import RELATIONS
from drover.web.alarm_texts import COLUMNS, Seal
from drover.web.errors import invalid

A = TypeVar("A", bound="AlarmChange")

RELATION: Final = "alarm"
_NEW: Final[Row] = dict.fromkeys(RELATIONS[RELATION].columns) | {"attempt": 0, "shift_min": 0}
_FIXED: Final = frozenset({"page_id", "user_id", "created_at"})
"""Columns that no sender changes. The writer does not check filters on them again."""
_CHECKED: Final = frozenset({"processed_at", "sent_count", "next_alarm_time"})
"""The writer checks a filter on one of these columns again. For a filter on any other column that can change, it checks
all three."""


class AlarmChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a client can write into a row of `alarm`. Times without an offset are UTC, as in PostgreSQL."""

    title: str | UnsetType | None = UNSET
    body: str | UnsetType | None = UNSET
    next_alarm_time: datetime | UnsetType | None = UNSET
    sent_count: int | UnsetType | None = UNSET
    last_notification_id: str | UnsetType | None = UNSET
    processed_at: datetime | UnsetType | None = UNSET


class NewAlarm(AlarmChange, kw_only=True):
    """A row of `alarm` as a client writes it. Without `next_alarm_time` it is due now."""

    page_id: str
    user_id: str


def _columns(change: AlarmChange) -> dict[str, Any]:
    """Return the columns as fields of a command. A null text becomes empty; a null `processed_at` ends a claim."""
    given = {name: value for name, value in asdict(change).items() if value is not UNSET}
    for name in ("title", "body"):
        if name in given:
            given[name] = cut(given[name] or "")
    for name in ("next_alarm_time", "processed_at"):
        if given.get(name) is not None and given[name].tzinfo is None:
            given[name] = given[name].replace(tzinfo=UTC)
    return given | {"release": change.processed_at is None}


def _check(change: AlarmChange) -> None:
    refuse_empty(change)
    for name in ("next_alarm_time", "sent_count"):
        if getattr(change, name) is None:
            raise invalid(f"{name} cannot be null", field=name)


async def _seal(edge: Edge, rows: Sequence[NewAlarm]) -> list[NewAlarm]:
    seal = await edge.alarm_texts.sealer(row.user_id for row in rows if row.title or row.body)
    return [_sealed(seal, row.user_id, row) for row in rows]


def _sealed(seal: Seal, user_id: str, row: A) -> A:
    """Seal the texts of a row. Texts that are too long are truncated first."""
    texts = {name: text for name in COLUMNS if isinstance(text := getattr(row, name), str)}
    return replace(row, **{name: seal(user_id, name, cut(text)) for name, text in texts.items()})


def _add(edge: Edge, row: NewAlarm) -> AddAlarm:
    return AddAlarm(**_columns(row))


def _added(edge: Edge, command: AddAlarm, done: Accepted) -> Row:
    columns = {name: value for name, value in asdict(command).items() if name in _NEW}
    return _NEW | columns | recorded(RELATIONS[RELATION], done)


def _as_sent(command: AddAlarm, refused: Rejected) -> ChangeAlarm:
    """Make the command that changes an existing alarm. A `sent_count` of 1 is ignored: apps register every alarm with
    it (document 004)."""
    columns = fields_of(AlarmRow, command)
    if command.sent_count == SENT_COUNT_FIRST:
        columns["sent_count"] = None
    return ChangeAlarm(**columns)


async def _apply(change: AlarmChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    _check(change)
    users = {target.row["user_id"] for target in targets} if change.title or change.body else set()
    seal = await sending.edge.alarm_texts.sealer(users)
    commands = [_change(_sealed(seal, target.row["user_id"], change), target) for target in targets]
    sending.check(commands)
    return await sending.send(commands, [target.id for target in targets])


def _change(change: AlarmChange, target: Target) -> ChangeAlarm:
    return ChangeAlarm(target.id, target.row["user_id"], **_columns(change), only_if=_seen(target))


def _delete(target: Target) -> DeleteAlarm:
    return DeleteAlarm(target.id, target.row["user_id"], _seen(target))


def _seen(target: Target) -> AlarmSeen | None:
    """Return the values that must be unchanged when the writer decides, because the filters matched them. None: the
    filters name only columns that never change."""
    asked, row = target.by - _FIXED, target.row
    if not asked:
        return None
    if not asked <= _CHECKED:
        asked = _CHECKED
    claimed = row["processed_at"] is not None
    same_claim = claimed and "processed_at" in asked
    return AlarmSeen(
        claimed=claimed if "processed_at" in asked else None,
        attempt=row["attempt"] if same_claim else None,
        sent_count=row["sent_count"] if same_claim or "sent_count" in asked else None,
        next_alarm_time=datetime.fromisoformat(row["next_alarm_time"]) if "next_alarm_time" in asked else None,
    )


ALARM: Final = WriteTable(
    relation=RELATION,
    client=client_of,
    insert=Insert(
        shape=NewAlarm,
        seal=_seal,
        command=_add,
        show=_added,
        unique="page_id",
        merge=Merge(_as_sent, ("page_id",)),
    ),
    update=Update(
        shape=AlarmChange,
        apply=_apply,
        show=stored(RELATION, key="page_id"),
        hint=can_change(AlarmChange),
    ),
    delete=Delete(command=_delete),
    key="page_id",
    fence=("user_id", "sent_count", "attempt", "processed_at", "next_alarm_time"),
    finds_keys=True,
)
