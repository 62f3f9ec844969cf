"""Writes of `user_info`: the time zones of the users of reminders (document 004)."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec.structs import asdict

from drover.bus.messages import Accepted, Rejected
from drover.domain.reminder.commands import AddUser, RemoveUser, SetTimezone
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import (
    Delete,
    Insert,
    Merge,
    Target,
    Update,
    WriteTable,
    each,
)
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.shown import recorded, stored
from drover.readmodel.models import RELATIONS
from drover.web.commands import CommandClient

RELATION: Final = "user_info"
_FIXED: Final = frozenset({"user_id", "created_at"})


class UserInfoChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a client can change in a row of `user_info`."""

    timezone: str


class NewUserInfo(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `user_info` as a client writes it. Without a time zone it gets the default one."""

    user_id: str
    timezone: str | None = None


def client_of(edge: Edge, command: Any) -> CommandClient:
    """Return the client of the user's partition. Without a command, return any client: it is only used to word a
    refusal."""
    return edge.reminder.of("" if command is None else command.user_id)


def _add(edge: Edge, row: NewUserInfo) -> AddUser:
    return AddUser(row.user_id, row.timezone)


def _added(edge: Edge, command: AddUser, done: Accepted) -> Row:
    blank: Row = dict.fromkeys(RELATIONS[RELATION].columns)
    return blank | asdict(command) | recorded(RELATIONS[RELATION], done)


def _as_sent(command: AddUser, refused: Rejected) -> SetTimezone:
    """Make the command that changes an existing row. The row keeps its time zone if none was sent."""
    assert refused.details is not None
    return SetTimezone(command.user_id, command.timezone or refused.details["timezone"])


def _change(change: UserInfoChange, target: Target) -> SetTimezone:
    return SetTimezone(target.id, change.timezone, existing=True, only_if=_seen(target))


def _seen(target: Target) -> str | None:
    """Return the time zone that the filters matched. None if they name only columns that never change."""
    return target.fence("timezone") if target.by - _FIXED else None


USER_INFO: Final = WriteTable(
    relation=RELATION,
    client=client_of,
    insert=Insert(shape=NewUserInfo, command=_add, show=_added, unique="user_id", merge=Merge(_as_sent, ("user_id",))),
    update=Update(
        shape=UserInfoChange,
        apply=each(_change),
        show=stored(RELATION, key="user_id"),
        hint="timezone can be changed.",
    ),
    delete=Delete(command=lambda target: RemoveUser(target.id, _seen(target))),
    key="user_id",
    fence=("timezone",),
    finds_keys=True,
)
