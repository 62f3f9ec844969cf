"""The gateways that telemetry comes from: which of them speak, and whether any of their batches may be missing."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from drover.bus.telemetry import TelemetryBatch

SOURCES_MAX: Final = 1_000
"""Gateways remembered; the one silent for longest is forgotten first."""


class Source(NamedTuple):
    number: int
    at_s: float


class Sources:
    """No clock and no I/O in here: `now_s` is any clock that only goes forward."""

    def __init__(self, gap_after_s: float) -> None:
        self._gap_after_s = gap_after_s
        self._known: OrderedDict[str, Source] = OrderedDict()
        """The one that spoke last is last."""

    def __len__(self) -> int:
        return len(self._known)

    def is_gap(self, batch: TelemetryBatch, now_s: float) -> bool:
        """Note a batch; say whether any may be missing before it: by its number, or by the silence of its source."""
        nobody_spoke = bool(self._known) and self.are_all_silent(now_s)
        before = self._known.pop(batch.source, None)
        self._known[batch.source] = Source(batch.number, now_s)
        while len(self._known) > SOURCES_MAX:
            self._known.popitem(last=False)
        if before is None:
            return nobody_spoke
        return batch.number != before.number + 1 or now_s - before.at_s > self._gap_after_s

    def are_all_silent(self, now_s: float) -> bool:
        """Nothing is known about anybody."""
        if not self._known:
            return True
        latest = next(reversed(self._known.values()))
        return now_s - latest.at_s > self._gap_after_s

    def is_cut_off(self, source: str, now_s: float) -> bool:
        known = self._known.get(source)
        return known is None or now_s - known.at_s > self._gap_after_s
