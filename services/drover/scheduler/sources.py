"""The gateways that send telemetry: which of them are silent, and whether messages of theirs were lost."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from drover.bus.telemetry import TelemetryBatch

SOURCES_MAX: Final = 1_000
"""How many gateways to remember. Beyond that, the one that has been silent for longest is forgotten."""


class Source(NamedTuple):
    number: int
    at_s: float


class Sources:
    """The gateways and their last messages. No clock and no I/O: `now_s` is the time of any monotonic clock."""

    def __init__(self, gap_after_s: float) -> None:
        self._gap_after_s = gap_after_s
        self._known: OrderedDict[str, Source] = OrderedDict()
        """The known gateways, in the order of their last messages; the latest is last."""

    def __len__(self) -> int:
        return len(self._known)

    def is_gap(self, batch: TelemetryBatch, now_s: float) -> bool:
        """Note a message of a gateway. Returns whether messages before it may be lost: its number does not follow the
        last one, or the gateway was silent."""
        nobody_spoke = bool(self._known) and self.are_all_silent(now_s)
        before = self._known.pop(batch.source, None)
        self._known[batch.source] = Source(batch.number, now_s)
        while len(self._known) > SOURCES_MAX:
            self._known.popitem(last=False)
        if before is None:
            return nobody_spoke
        return batch.number != before.number + 1 or now_s - before.at_s > self._gap_after_s

    def are_all_silent(self, now_s: float) -> bool:
        """Whether all gateways are silent, so that nothing is known about any device."""
        if not self._known:
            return True
        latest = next(reversed(self._known.values()))
        return now_s - latest.at_s > self._gap_after_s

    def is_cut_off(self, source: str, now_s: float) -> bool:
        known = self._known.get(source)
        return known is None or now_s - known.at_s > self._gap_after_s
