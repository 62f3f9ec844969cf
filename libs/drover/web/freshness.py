"""Read your writes over HTTP: a read shows every write that was acknowledged before it, whichever process and caller
wrote.

- A read waits until its read model has every commit that this process knows of. After a second it is answered anyway,
  with the header `Drover-Behind`. If the read model is already more than a second behind, the read does not wait.
- A read that names a position (`Drover-Min-Position`) first waits for that one, and is refused with 503 if it does not
  come in time.
- A read model that is being built is not read at all: 503 READ_MODEL_REBUILDING.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol

import msgspec

from drover.projection.errors import BadPosition
from drover.projection.newest import Newest
from drover.projection.positions import (
    BEHIND_HEADER,
    MIN_POSITION_HEADER,
    context_of,
    format_position,
    parse_position,
)
from drover.projection.readable import ReadModelRebuilding
from drover.web.errors import ApiError, invalid, unavailable

HARD_WAIT_S: Final = 2.0
"""How long a read waits for a position that it names, in seconds. After that the answer is a 503."""
SOFT_WAIT_S: Final = 1.0
"""How long a read waits for earlier writes, in seconds. After that it is answered with `Drover-Behind`."""
HARD_WAITS_MAX: Final = 2_000
"""How many reads may wait at once for a position that they name. It is bounded, because anybody can name a position
that never comes."""


class Waiter(Protocol):
    """The part of `drover.projection.positions.Positions` that is needed here."""

    async def wait(self, place: str, seq: int, timeout_s: float) -> bool: ...


class Readable(Protocol):
    """The part of `drover.projection.readable.ReadableForms` that is needed here."""

    async def demand(self, contexts: Iterable[str]) -> None: ...


class Awaited(NamedTuple):
    shows: Mapping[str, int]
    """By partition, the sequence of the last commit that a read is sure to show from now on. Empty if the answer may be
    stale."""
    headers: Mapping[str, str]
    """`Drover-Behind`, if the answer may be stale."""


class Freshness:
    """Delays reads of one read model until the read model has every write that was acknowledged before the read."""

    def __init__(self, positions: Waiter, newest: Newest, forms: Readable | None = None) -> None:
        """`positions`: how far the read model is. `newest`: how far the logs are. `forms`: which read models can be
        read. None: all of them."""
        self._positions = positions
        self._newest = newest
        self._forms = forms
        self._hard_waits = 0

    def of(self, positions: Waiter) -> Freshness:
        """Return a `Freshness` for another read model of this process."""
        return Freshness(positions, self._newest)

    def wrote(self, place: str, seq: int) -> None:
        """Note a write of this process, without waiting for its announcement."""
        self._newest.observe(place, seq)

    async def wait(self, headers: Mapping[str, str], *contexts: str) -> Awaited:
        """Wait before a read of these contexts. The returned headers belong into the answer.

        Raises 503 READ_MODEL_BEHIND if the read model does not reach, in time, a position that the request names.
        Raises 503 READ_MODEL_REBUILDING if the read model is being built.
        """
        await self._demand_readable(contexts)
        await self.wait_named(headers, *contexts)
        give_up_at = asyncio.get_running_loop().time() + SOFT_WAIT_S
        known = await self._newest.sync(contexts)
        wanted = {place: seq for context in contexts for place, seq in self._newest.of(context).items()}
        left_s = give_up_at - asyncio.get_running_loop().time()
        if known and await self._has_all_long_known(wanted) and await self._reached(wanted, left_s):
            return Awaited(wanted, {})
        return Awaited({}, {BEHIND_HEADER: format_position(wanted or dict.fromkeys(contexts, 0))})

    async def _demand_readable(self, contexts: tuple[str, ...]) -> None:
        if self._forms is None:
            return
        try:
            await self._forms.demand(contexts)
        except ReadModelRebuilding as error:
            raise ApiError(
                503,
                "READ_MODEL_REBUILDING",
                str(error),
                details=msgspec.structs.asdict(error.rebuilding),
                hint="Try again later; nothing is wrong with the request. Commands are accepted meanwhile.",
            ) from error

    async def wait_named(self, headers: Mapping[str, str], *contexts: str) -> None:
        """Wait only for the position that the request names, if any. For polls: they need not see the newest writes,
        because they come again soon."""
        if (header := headers.get(MIN_POSITION_HEADER)) is not None:
            for context in contexts:
                await self._wait_hard(header, context)

    async def _has_all_long_known(self, wanted: Mapping[str, int]) -> bool:
        """Whether the read model has every commit that this process has known for more than a second. If not, waiting
        is no use."""
        long_known = {place: seq for place in wanted if (seq := self._newest.long_known(place))}
        return await self._reached(long_known, 0.0)

    async def _wait_hard(self, header: str, context: str) -> None:
        try:
            wanted = {place: seq for place, seq in parse_position(header).items() if context_of(place) == context}
        except BadPosition as error:
            raise invalid(str(error), field=error.field, value=error.value[:200]) from error
        if self._hard_waits >= HARD_WAITS_MAX:
            raise unavailable("Too many reads are waiting for the read model", "READ_MODEL_BEHIND")
        self._hard_waits += 1
        try:
            reached = await self._reached(wanted, HARD_WAIT_S)
        finally:
            self._hard_waits -= 1
        if not reached:
            raise unavailable(f"The read model has not reached {format_position(wanted)} yet", "READ_MODEL_BEHIND")

    async def _reached(self, wanted: Mapping[str, int], within_s: float) -> bool:
        waits = [self._positions.wait(place, seq, within_s) for place, seq in wanted.items()]
        if len(waits) == 1:  # the usual case; gather would cost a task
            return await waits[0]
        return all(await asyncio.gather(*waits))
