"""Answers, from the read model, commands about work that ended so long ago that its writer has forgotten it.

A writer's state remembers only a window of ended work. A late report about older work must get the same answer as one
within the window: otherwise its sender would repeat it for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Command, Decider
from drover.domain.errors import Code
from drover.readmodel.models import RELATIONS
from drover.web.errors import ApiError
from drover.web.postgrest.ast import Column, Filter, Query
from drover.web.postgrest.read import Pool, fetch

_UNAVAILABLE: Final = 503


class Row(Protocol):
    """A row of ended work."""

    def revive(self) -> Any | None:
        """Make a state of the decider that contains only this work. None if the row does not show how the work
        ended."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of work, and where its rows are."""

    name: str
    """The name of the kind in messages to people, such as `job`."""
    relation: str
    row: type[msgspec.Struct]
    """The type of a row: its fields are the columns to read, and it has the methods of `Row`."""
    key: str
    """The field of the commands that contains the id of the work."""


class ForgottenWork:
    """Answers for one context. It rebuilds a state from the row of the work, and lets the decider answer the command on
    that state."""

    def __init__(
        self,
        pool: Pool,
        decider: Decider[Any],
        kinds: Mapping[type[Command], Kind],
        *,
        is_known: Callable[[str], bool] = lambda id_: False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`is_known`: whether this process's own state has the work with this id. If so, the work is not forgotten: the
        writer has refused the command for another reason, and its answer stands."""
        self._pool = pool
        self._decider = decider
        self._kinds = kinds
        self._is_known = is_known
        self._clock = clock

    async def answer(self, command: Command, refused: Rejected) -> Outcome:
        """Answer a command whose work the writer does not know. `refused` is the writer's answer."""
        kind = self._kinds.get(type(command))
        if kind is None or self._is_known(id_ := getattr(command, kind.key)):
            return refused
        try:
            row = await self.find(kind, id_)
        except ApiError as error:
            return _unknown(kind, id_) if error.status == _UNAVAILABLE else refused
        if row is None:
            return refused
        state = row.revive()
        if state is None:
            return _unknown(kind, id_)
        decision = self._decider.decide(state, command, self._clock())
        if decision.rejection is not None:
            return Rejected(decision.rejection.code, decision.rejection.message, decision.rejection.details)
        if decision.events or decision.then is not None:
            return _too_late(kind, id_)
        return Accepted(0, decision.result)

    async def find(self, kind: Kind, id_: str) -> Row | None:
        """Read the row of this work; None if there is none. Raises 503 if the read model is unavailable."""
        columns = tuple(map(Column, kind.row.__struct_fields__))
        query = Query(select=columns, where=(Filter("id", "eq", id_),))
        page = await fetch(RELATIONS[kind.relation], query, self._pool)
        rows: list[Row] = msgspec.json.decode(page.body, type=list[kind.row])  # type: ignore[name-defined]
        return rows[0] if rows else None


def _unknown(kind: Kind, id_: str) -> Rejected:
    message = f"This {kind.name} is not open. The read model, which would tell how it ended, is not available now"
    return Rejected(Code.ENDED_LONG_AGO, message, {"id": id_})


def _too_late(kind: Kind, id_: str) -> Rejected:
    message = f"This {kind.name} ended so long ago that it cannot be changed any more; create a new one"
    return Rejected(Code.ENDED_LONG_AGO, message, {"id": id_})
