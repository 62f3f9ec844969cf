"""Writes of `users`, the users of analyses (document 001). If a client writes a balance, the ledger gets its difference
from the old balance."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import asdict

from drover.bus.messages import Accepted, Rejected
from drover.domain.analysis.commands import ChangeUser, RegisterUser, UserFence
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import (
    Insert,
    Merge,
    Target,
    Update,
    WriteTable,
    can_change,
    each,
    refuse_empty,
)
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.shown import recorded, stored
from drover.readmodel.models import RELATIONS

RELATION: Final = "users"
_FIXED: Final = frozenset({"id", "created_at"})
"""Columns that never change. The writer does not check filters on them again."""
_FENCED: Final = frozenset(UserFence.__struct_fields__)
"""The writer checks a filter on one of these columns again. For a filter on any other column that can change, it checks
all of these."""


class UserChange(msgspec.Struct, forbid_unknown_fields=True):
    """What a client may write about a user. Null: no change."""

    remaining_tests: int | None = None
    tier: str | None = None
    frozen: bool | None = None


class NewUser(UserChange, kw_only=True):
    """A row of `users` as a client writes it. The id must not identify the person."""

    id: str


def _register(edge: Edge, row: NewUser) -> RegisterUser:
    return RegisterUser(row.id, row.remaining_tests, row.tier, row.frozen)


def _registered(edge: Edge, command: RegisterUser, done: Accepted) -> Row:
    relation = RELATIONS[RELATION]
    balance: Row = {"granted": command.remaining_tests or 0, "adjusted": 0, "charged": 0, "refunded": 0}
    return dict.fromkeys(relation.columns) | balance | {"id": command.user_id} | recorded(relation, done)


def _as_sent(command: RegisterUser, refused: Rejected) -> ChangeUser:
    return ChangeUser(
        command.user_id, tier=command.tier, frozen=command.frozen, remaining_tests=command.remaining_tests
    )


def _change(change: UserChange, target: Target) -> ChangeUser:
    asked = target.by - _FIXED
    if not asked <= _FENCED:
        asked = _FENCED
    return ChangeUser(target.id, **asdict(change), only_if=UserFence(**{name: target.fence(name) for name in asked}))


USERS: Final = WriteTable(
    relation=RELATION,
    client=lambda edge, command: edge.analysis,
    insert=Insert(
        shape=NewUser,
        command=_register,
        show=_registered,
        unique="id",
        names={"user_id": "id"},
        merge=Merge(_as_sent, ("id",), show=stored(RELATION)),
    ),
    update=Update(
        shape=UserChange,
        apply=each(_change, check=refuse_empty),
        show=stored(RELATION),
        hint=can_change(UserChange),
    ),
    fence=UserFence.__struct_fields__,
)
