"""How a relation declares its writes. The package `tables` has one declaration for each relation that takes writes."""

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
"""The result of writing one row. None: accepted, and there was nothing to record."""


class Target(msgspec.Struct, frozen=True):
    """A row to change or delete."""

    id: str
    row: Row = {}
    """The columns of `WriteTable.fence` as they were read. Empty if the request names the row by its key alone."""
    by: frozenset[str] = frozenset()
    """The columns that the filters of the request name."""

    def fence(self, column: str) -> Any:
        """Return the value of a column when the filters matched. The command can demand that it is unchanged. None if
        the request names the row by its key alone."""
        return self.row.get(column)

    def filtered(self, column: str) -> Any:
        """Like `fence`, but None unless one of the filters names this column."""
        return self.row.get(column) if column in self.by else None


class Merge(msgspec.Struct, Generic[C], frozen=True):
    """`Prefer: resolution=merge-duplicates`, which is Supabase's `upsert`."""

    command: Callable[[C, Rejected], Command | None]
    """Makes the command that changes the existing row to the values of the request. Its arguments are the first command
    and the refusal, which names the row. None: the row cannot be changed, and the refusal is the answer."""
    on_conflict: tuple[str, ...]
    """Allowed values of the parameter `on_conflict`: the columns that identify a row."""
    show: Callable[[Edge, Mapping[str, Accepted | None], Sending], Awaitable[list[Row]]] | None = None
    """Makes the merged rows for the answer. None: the answer is made from the command alone."""
    optional: tuple[str, ...] = ()
    """Fields of the command that `command` makes. Each is set to None, which means no change, unless the body has its
    column."""
    keeps: tuple[str, ...] = ()
    """Columns that an existing row keeps. `Drover-Ignored` names those that the request has with another value."""
    only_new: Callable[[C], Command] | None = None
    """Makes the command for `resolution=ignore-duplicates`, which is refused if the row exists. None: the usual command
    is refused then, too."""


class Insert(msgspec.Struct, Generic[T, C], frozen=True, kw_only=True):
    """`POST` of rows: each becomes one command."""

    shape: type[T]
    """The columns that have an effect."""
    command: Callable[[Edge, T], C]
    show: Callable[[Edge, C, Accepted], Row]
    """Makes the row for the answer. Sealed columns are opened afterwards."""
    check: Callable[[T], None] | None = None
    """Raises 400 for an invalid row, before it is sealed."""
    seal: Callable[[Edge, Sequence[T]], Awaitable[Sequence[T]]] | None = None
    """Seals the personal data of all rows at once. `command` gets the sealed rows."""
    unique: str | None = None
    """A field that must be unique among the rows of one body. None: there is none."""
    names: Mapping[str, str] = MappingProxyType({})
    """Names of columns by the name of the command's field, where they differ. For error messages."""
    merge: Merge[C] | None = None
    forgotten: Callable[[Edge, Sequence[T]], Awaitable[Collection[int]]] | None = None
    """Finds rows of the body that exist although the writer has forgotten them, and returns their indexes. They count
    as duplicates, because recording them again would replace the stored row. None: no such check is needed."""


class Update(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """`PATCH` of rows: usually one command for each."""

    shape: type[T]
    """The columns that have an effect."""
    apply: Callable[[T, Sequence[Target], Sending], Awaitable[Sequence[Result]]]
    """Sends the commands, and returns a result for each row. `each` makes this function for the usual case."""
    show: Callable[[Edge, Mapping[str, Accepted | None], Sending], Awaitable[list[Row]]]
    """Makes the rows for the answer. Gets the results of the changed rows, by id."""
    hint: str | None = None
    """The hint for a client whose body was refused: what can be written."""
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
    """The writes that a relation takes. A method that is None is answered with 405."""

    relation: str
    client: Callable[[Edge, Any], CommandClient]
    """Returns the client for a command. The command decides which partition of the context gets it."""
    insert: Insert[Any, Any] | None = None
    update: Update[Any] | None = None
    delete: Delete | None = None
    key: str = "id"
    other_keys: Mapping[str, Callable[[Edge, str], str | None]] = MappingProxyType({})
    """Other columns that identify a row. Each has a function that finds the row's key without PostgreSQL; it returns
    None for an unknown row."""
    fence: tuple[str, ...] = ()
    """Columns to read when filters select rows. Commands can demand that they are unchanged (`Target.fence`)."""
    finds_keys: bool = False
    """Whether rows are read first even if the request names their keys, because a key does not tell the partition.
    Unknown rows are then no error, as in PostgREST."""
    absent: Callable[[Edge], ApiError] = _absent
    """Makes the error for a request that names keys which no row has."""

    @property
    def columns(self) -> Relation:
        return RELATIONS[self.relation]


def each(
    command: Callable[[T, Target], Command], *, check: Callable[[T], None] | None = None
) -> Callable[[T, Sequence[Target], Sending], Awaitable[Sequence[Result]]]:
    """Make an `apply` that sends one command for each row. `check` raises 400 for a body without changes."""

    async def apply(change: T, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
        if check is not None:
            check(change)
        commands = [command(change, target) for target in targets]
        sending.check(commands)
        return await sending.send(commands, [target.id for target in targets])

    return apply


def can_change(shape: type[msgspec.Struct]) -> str:
    """Make the hint for a client whose body was refused."""
    return f"{_listed(shape, 'and')} can be changed."


def refuse_empty(change: msgspec.Struct) -> None:
    """Raise 400 if the body changes nothing."""
    if change == type(change)():
        raise invalid(f"{_listed(type(change), 'or')} is required", field=change.__struct_fields__[0])


def _listed(shape: type[msgspec.Struct], word: str) -> str:
    *others, last = shape.__struct_fields__
    return f"{', '.join(others)} {word} {last}"
