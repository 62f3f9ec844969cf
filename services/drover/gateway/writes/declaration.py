"""The declaration of a relation that takes writes. `tables` has one for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command
from drover.gateway.rows import Row
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.sending import Sending
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.web.commands import CommandClient
from drover.web.errors import ApiError, invalid, not_found

T = TypeVar("T", bound=msgspec.Struct)
C = TypeVar("C", bound=Command)

Result = Outcome | ApiError | None
"""The result of one row. None: the write was accepted, and there was nothing to record."""


class Target(msgspec.Struct, frozen=True):
    """A row to change or delete."""

    id: str
    row: Row = {}
    """The columns of `WriteTable.fence` as they were read; empty if the request names the row by its key."""
    by: frozenset[str] = frozenset()
    """The columns of the filters that it matched."""

    def fence(self, column: str) -> Any:
        """The value of a column when the filters matched the row, which the command can demand. None if the request
        named the row by its key."""
        return self.row.get(column)

    def filtered(self, column: str) -> Any:
        """The same, but None unless one of the filters is about this column."""
        return self.row.get(column) if column in self.by else None


class Merge(msgspec.Struct, Generic[C], frozen=True):
    """`Prefer: resolution=merge-duplicates`, which is Supabase's `upsert`."""

    command: Callable[[C, Rejected], Command | None]
    """The command that changes an existing row to what was sent. The refusal of the first command names the row. None:
    the row cannot be changed to that, and the refusal is the answer."""
    on_conflict: tuple[str, ...]
    """Allowed values of the parameter `on_conflict`: the columns that identify a row."""
    show: Callable[[Edge, Mapping[str, Accepted | None], Sending], Awaitable[list[Row]]] | None = None
    """The merged rows for the answer, by id. None: the command has all that the answer shows."""
    optional: tuple[str, ...] = ()
    """Fields of that command which are set to None, "no change", unless the body has their columns."""
    keeps: tuple[str, ...] = ()
    """Columns of an existing row that stay as the refusal names them. `Drover-Ignored` names those that were sent with
    another value."""
    only_new: Callable[[C], Command] | None = None
    """For `ignore-duplicates`, if the usual command changes an existing row: the command that is refused instead."""


class Insert(msgspec.Struct, Generic[T, C], frozen=True, kw_only=True):
    """`POST` of rows: each becomes one command."""

    shape: type[T]
    """The columns that mean something."""
    command: Callable[[Edge, T], C]
    show: Callable[[Edge, C, Accepted], Row]
    """The row for the answer."""
    unique: str | None = None
    """A field that must be unique within one body."""
    names: Mapping[str, str] = MappingProxyType({})
    """Fields of the command that have another name for clients."""
    merge: Merge[C] | None = None
    forgotten: Callable[[Edge, Sequence[T]], Awaitable[Collection[int]]] | None = None
    """Finds rows of the body that exist although their writer has forgotten them, by their place. They count as
    duplicates: to record them again would replace what they say."""


class Update(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """`PATCH` of rows: one command for each, as a rule."""

    shape: type[T]
    """The columns that mean something."""
    apply: Callable[[T, Sequence[Target], Sending], Awaitable[Sequence[Result]]]
    """Sends the commands; a result for each row. `each` makes it for the usual case."""
    show: Callable[[Edge, Mapping[str, Accepted | None], Sending], Awaitable[list[Row]]]
    """The rows for the answer, by id."""
    hint: str | None = None
    """Tells a client that wrote anything else what can be written."""
    settles: bool = True
    """Whether the answer waits until the live state of this process has the write."""
    by_handler: bool = False
    """Whether another handler declares the route and checks the permission."""


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """`DELETE` of rows: each becomes one command."""

    command: Callable[[Target], Command]


def _absent(edge: Edge) -> ApiError:
    return not_found("Row")


class WriteTable(msgspec.Struct, frozen=True, kw_only=True):
    """What a relation takes in writes. A verb that is None is answered with 405."""

    relation: str
    client: Callable[[Edge, Any], CommandClient]
    """Returns the client that sends a command. A context with several partitions chooses it by the command."""
    insert: Insert[Any, Any] | None = None
    update: Update[Any] | None = None
    delete: Delete | None = None
    key: str = "id"
    other_keys: Mapping[str, Callable[[Edge, str], str | None]] = MappingProxyType({})
    """Other columns that name one row, each with the function that finds its key without PostgreSQL."""
    fence: tuple[str, ...] = ()
    """Columns that are read with the rows that a filter matches, for the fences of commands."""
    finds_keys: bool = False
    """Whether rows that a request names by their key are read first, because the key alone does not say which partition
    has them. Unknown rows then get PostgREST's answers, too: the users' programs expect no 404."""
    absent: Callable[[Edge], ApiError] = _absent
    """Makes the answer if no row has the keys that a request names."""

    @property
    def columns(self) -> Relation:
        return RELATIONS[self.relation]


def each(
    command: Callable[[T, Target], Command], *, check: Callable[[T], None] | None = None
) -> Callable[[T, Sequence[Target], Sending], Awaitable[Sequence[Result]]]:
    """Make an `apply` that sends one command for each row. `check` raises 400 for a body that says nothing."""

    async def apply(change: T, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
        if check is not None:
            check(change)
        commands = [command(change, target) for target in targets]
        sending.check(commands)
        return await sending.send(commands, [target.id for target in targets])

    return apply


def can_change(shape: type[msgspec.Struct]) -> str:
    """The hint for a client that wrote something else."""
    return f"{_listed(shape, 'and')} can be changed."


def refuse_empty(change: msgspec.Struct) -> None:
    """Raises 400 if the body changes nothing."""
    if change == type(change)():
        raise invalid(f"{_listed(type(change), 'or')} is required", field=change.__struct_fields__[0])


def _listed(shape: type[msgspec.Struct], word: str) -> str:
    *others, last = shape.__struct_fields__
    return f"{', '.join(others)} {word} {last}"
