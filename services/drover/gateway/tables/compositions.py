"""Writes of `aep_compositions`: the template of a composition, and how it is encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import asdict, replace

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.errors import Code
from drover.domain.render.commands import DescribeComposition, GetComposition, RemoveComposition
from drover.domain.render.mapping_spec import CompositionChange
from drover.domain.spec import fields_of
from drover.gateway.rows import Row
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
from drover.gateway.writes.shown import stored
from drover.readmodel.models import RELATIONS


class NewComposition(CompositionChange):
    """A row of `aep_compositions` as a client writes it. An existing one is updated."""

    id: str | int


def _describe(edge: Edge, row: NewComposition) -> DescribeComposition:
    return DescribeComposition(str(row.id), **fields_of(CompositionChange, row))


def _described(edge: Edge, command: DescribeComposition, done: Accepted) -> Row:
    """Make the row from the recorded values or, if nothing changed, from the command."""
    blank: Row = dict.fromkeys(RELATIONS["aep_compositions"].columns)
    said = fields_of(CompositionChange, command)
    return blank | {"id": command.composition_id} | said | (done.result or {})


async def _apply(change: CompositionChange, targets: Sequence[Target], sending: Sending) -> Sequence[Result]:
    refuse_empty(change)
    ids = [target.id for target in targets]
    commands = {id_: DescribeComposition(id_, **asdict(change)) for id_ in ids}
    sending.check(commands.values())
    # The command also creates missing compositions, which a PATCH must not do. So ask first which exist.
    found = await sending.ask([GetComposition(id_) for id_ in ids])
    outcomes = {id_: _known(id_, one) for id_, one in zip(ids, found, strict=True)}
    known = [id_ for id_, outcome in outcomes.items() if isinstance(outcome, Accepted)]
    described = await sending.send([commands[id_] for id_ in known], known)
    return list((outcomes | dict(zip(known, described, strict=True))).values())


def _known(composition_id: str, found: Outcome) -> Outcome:
    """Reject a composition that does not exist: its version is 0."""
    if isinstance(found, Accepted) and not found.result["version"]:
        return Rejected(Code.NOT_FOUND, f"There is no composition {composition_id}", {"id": composition_id})
    return found


COMPOSITIONS: Final = WriteTable(
    relation="aep_compositions",
    client=lambda edge, command: edge.render,
    insert=Insert(
        shape=NewComposition,
        command=_describe,
        show=_described,
        unique="id",
        names={"composition_id": "id"},
        merge=Merge(lambda command, refused: command, ("id",), only_new=lambda command: replace(command, is_new=True)),
    ),
    update=Update(
        shape=CompositionChange,
        apply=_apply,
        show=stored("aep_compositions"),
        hint=can_change(CompositionChange),
    ),
    delete=Delete(command=lambda target: RemoveComposition(target.id)),
)
