"""Answers commands about work that ended so long ago that its writer has forgotten it, from the read model.

A state remembers a window of ended work only. A late report must get the same answer outside this window as within it:
otherwise its sender would repeat it for ever.
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
        """Make a state that has this work only; None if the row does not show its end."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of work, and where its rows are."""

    name: str
    """For messages to people, such as `job`."""
    relation: str
    row: type[msgspec.Struct]
    """The columns to read. It has the methods of `Row`."""
    key: str
    """The field of its commands that has its id."""


class ForgottenWork:
    """Answers for one context. The answer is that of the decider, on a state that has the row's work only."""

    def __init__(
        self,
        pool: Pool,
        decider: Decider[Any],
        kinds: Mapping[type[Command], Kind],
        *,
        is_known: Callable[[str], bool] = lambda id_: False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`is_known`: whether this process itself sees the work with this id. Then it is not forgotten, and the writer
        has refused the command for another reason."""
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
