"""The gateways that send telemetry: which of them are silent, and whether batches may be missing."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from drover.bus.telemetry import TelemetryBatch

SOURCES_MAX: Final = 1_000
"""How many gateways to remember; the one that is silent for longest is forgotten first."""


class Source(NamedTuple):
    number: int
    at_s: float


class Sources:
    """No clock and no I/O: `now_s` is the time of any monotonic clock."""

    def __init__(self, gap_after_s: float) -> None:
        self._gap_after_s = gap_after_s
        self._known: OrderedDict[str, Source] = OrderedDict()
        """The gateway heard most recently is last."""

    def __len__(self) -> int:
        return len(self._known)

    def is_gap(self, batch: TelemetryBatch, now_s: float) -> bool:
        """Note a batch; returns whether batches before it may be missing, by its number or its source's silence."""
        nobody_spoke = bool(self._known) and self.are_all_silent(now_s)
        before = self._known.pop(batch.source, None)
        self._known[batch.source] = Source(batch.number, now_s)
        while len(self._known) > SOURCES_MAX:
            self._known.popitem(last=False)
        if before is None:
            return nobody_spoke
        return batch.number != before.number + 1 or now_s - before.at_s > self._gap_after_s

    def are_all_silent(self, now_s: float) -> bool:
        """Whether no gateway is heard, so that nothing is known about any device."""
        if not self._known:
            return True
        latest = next(reversed(self._known.values()))
        return now_s - latest.at_s > self._gap_after_s

    def is_cut_off(self, source: str, now_s: float) -> bool:
        known = self._known.get(source)
        return known is None or now_s - known.at_s > self._gap_after_s
