"""Read your writes over HTTP: position headers, and a short memory of each caller's last write."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Protocol

from drover.projection.errors import BadPosition
from drover.projection.positions import MIN_POSITION_HEADER, context_of, format_position, parse_position
from drover.web.errors import invalid, unavailable

HARD_WAIT_S: Final = 2.0
"""How long a read waits for a position that it names; after that it is a 503."""
SOFT_WAIT_S: Final = 0.25
"""How long a read waits for its caller's own last write; after that it is answered as is."""
HARD_WAITS_MAX: Final = 2_000
"""How many reads may wait for a named position at once: anybody can name one that never comes."""
WRITERS_REMEMBERED_MAX: Final = 100_000


class Waiter(Protocol):
    """The part of `drover.projection.positions.Positions` that is needed here."""

    async def wait(self, place: str, seq: int, timeout_s: float) -> bool: ...


class Freshness:
    """Delays reads until the read model has what their caller wrote or asks for.

    A caller is a principal's name and, where many phones share one key, also a device, so that phones do not wait for
    each other's writes. A read that names no device waits for the last write of all of them.
    """

    def __init__(self, positions: Waiter) -> None:
        self._positions = positions
        self._hard_waits = 0
        # (principal, context, device) → sequence by place (`fleet`, `reminder.p2`). Least recently used first.
        self._written: OrderedDict[tuple[str, str, str | None], dict[str, int]] = OrderedDict()

    def wrote(self, principal: str, place: str, seq: int, *, device: str | None = None) -> None:
        context = context_of(place)
        for key in dict.fromkeys(((principal, context, None), (principal, context, device))):
            own = self._written.setdefault(key, {})
            own[place] = max(seq, own.get(place, 0))
            self._written.move_to_end(key)
        while len(self._written) > WRITERS_REMEMBERED_MAX:
            self._written.popitem(last=False)

    async def wait(self, headers: Mapping[str, str], principal: str, *contexts: str, device: str | None = None) -> None:
        """Call before a read of these contexts. 503 READ_MODEL_BEHIND if a requested position does not come in time."""
        header = headers.get(MIN_POSITION_HEADER)
        for context in contexts:
            if header is not None:
                await self._wait_hard(header, context)
            elif own := self._written.get((principal, context, device)):
                await self._reached(own, SOFT_WAIT_S)

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
