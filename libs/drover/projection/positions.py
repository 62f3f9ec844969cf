"""Makes reads wait until the read model has what the client wrote: position headers, and the position of each read
model. `drover.bus.live` announces positions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from drover.domain.partitions import MAIN
from drover.eventlog.log import ALL, Partition
from drover.projection.errors import BadPosition

POSITION_HEADER: Final = "Drover-Position"
MIN_POSITION_HEADER: Final = "Drover-Min-Position"
BEHIND_HEADER: Final = "Drover-Behind"
"""Header of an answer that may lack writes. It names the positions that the read model has not reached in time."""
HEADER_CHARS_MAX: Final = 512
HEADER_PLACES_MAX: Final = 16
SEQ_MAX: Final = 2**63 - 1
WAITERS_MAX: Final = 10_000
"""How many reads may wait at once in one process. Further reads do not wait, as if their time were over."""

# ASCII digits, not \d: int() would also accept full-width digits.
_ENTRY: Final = re.compile(r"([a-z][a-z0-9_]{0,31}(?:\.[a-z0-9_]{1,32})?)=([0-9]{1,19})")


def place_of(context: str, partition: str = MAIN) -> str:
    """Return the name of a partition in position headers: `fleet`, or `reminder.p2` for a partitioned context."""
    return context if partition == MAIN else f"{context}.{partition}"


def context_of(place: str) -> str:
    return place.partition(".")[0]


def format_position(positions: Mapping[str, int]) -> str:
    """Format positions as the value of a header. Clients send it back and need not understand it."""
    return ",".join(f"{place}={seq}" for place, seq in positions.items())


def parse_position(value: str, field: str = MIN_POSITION_HEADER) -> dict[str, int]:
    """Parse a header such as `fleet=123,reminder.p2=45` into positions by partition or context. An empty header has
    none."""
    if len(value) > HEADER_CHARS_MAX:
        raise BadPosition(field, value[:HEADER_CHARS_MAX], f"longer than {HEADER_CHARS_MAX} characters")
    positions: dict[str, int] = {}
    for entry in value.split(",") if value.strip() else ():
        if (match := _ENTRY.fullmatch(entry.strip())) is None:
            raise BadPosition(field, value, f"{entry.strip()!r} is not of the form context=sequence")
        place, seq = match[1], int(match[2])
        if seq > SEQ_MAX:
            raise BadPosition(field, value, f"{seq} is not a sequence number")
        if place in positions:
            raise BadPosition(field, value, f"{place} appears twice")
        positions[place] = seq
    if len(positions) > HEADER_PLACES_MAX:
        raise BadPosition(field, value, f"more than {HEADER_PLACES_MAX} places")
    return positions


Ask = Callable[[str, int], None]
"""Called with (partition or context, position): tells its projectors that a read waits for this position."""


def ask_nobody(place: str, seq: int) -> None:
    """Ask nobody: for a process that cannot reach its projector."""


def asking(announce: Callable[[str, str, int], None]) -> Ask:
    """Make an `Ask` that uses `announce` to tell the projector of a partition, or those of all partitions of a
    context."""

    def ask(place: str, seq: int) -> None:
        context, _, partition = place.partition(".")
        announce(context, partition or ALL, seq)

    return ask


class Positions:
    """The position of each read model, as last announced to this process, and the reads that wait for a position."""

    def __init__(self, partitions: Iterable[Partition], waiters_max: int = WAITERS_MAX, ask: Ask = ask_nobody) -> None:
        """`partitions`: all partitions of all contexts. The position of each is 0 until it is announced. `ask`: called
        when a read waits for a higher position of a partition or context than all other waiting reads."""
        self._waiters_max = waiters_max
        self._ask = ask
        self._seen: dict[str, dict[str, int]] = {}
        for partition in partitions:
            self._seen.setdefault(partition.context, {})[partition.name] = 0
        self._waiting: dict[str, dict[asyncio.Future[None], int]] = {}

    def observe(self, context: str, partition: str, seq: int) -> None:
        """Note the position that a projector announced. It may be lower than before: a rebuilt read model starts
        over."""
        seen = self._seen.get(context, {})
        if partition not in seen:  # nobody can wait for it
            return
        seen[partition] = seq
        for place in {context, place_of(context, partition)}:
            if waiting := self._waiting.get(place):
                position = self.position(place)
                for future, wanted in waiting.items():
                    if wanted <= position and not future.done():
                        future.set_result(None)

    def position(self, place: str) -> int:
        """Return the position that the read model of a partition has reached; for a whole context, the lowest of its
        partitions."""
        context, _, partition = place.partition(".")
        seen = self._seen.get(context, {})
        return seen.get(partition, 0) if partition else min(seen.values(), default=0)

    async def wait(self, place: str, seq: int, timeout_s: float) -> bool:
        """Wait until the read model has everything up to `seq`. Return False on time-out."""
        if self.position(place) >= seq:
            return True
        if self.waiting >= self._waiters_max or timeout_s <= 0:
            return False
        future = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(place, {})
        if seq > max(waiting.values(), default=0):
            self._ask(place, seq)
        waiting[future] = seq
        try:
            async with asyncio.timeout(timeout_s):
                await future
        except TimeoutError:
            return False
        finally:
            del waiting[future]
            if not waiting:
                self._waiting.pop(place, None)
        return True

    @property
    def waiting(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())
