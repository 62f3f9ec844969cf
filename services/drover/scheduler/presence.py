"""Last-seen of every online device, outside decider state: volatile, ordered by age, and started anew after any gap."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from drover.bus.telemetry import TelemetryBatch

SOURCES_MAX: Final = 1_000
"""Gateways remembered; the one silent for longest is forgotten first."""


class Silent(NamedTuple):
    device_id: str
    last_seen: datetime | None
    heard_s: float


class Heard(NamedTuple):
    at_s: float
    seen_at: datetime | None
    source: str | None
    """The gateway that heard it; None once that one's own silence has been taken into account."""


class Source(NamedTuple):
    number: int
    at_s: float


class Presence:
    """No clock and no I/O in here: `now_s` is any clock that only goes forward."""

    def __init__(self, silent_after_s: float, gap_after_s: float) -> None:
        self._silent_after_s = silent_after_s
        self._gap_after_s = gap_after_s
        self._heard: OrderedDict[str, Heard] = OrderedDict()
        """Oldest first, so that finding who is overdue looks at nobody else."""
        self._sources: OrderedDict[str, Source] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heard)

    def restart(self, online: Iterable[str], now_s: float) -> None:
        """Give every online device its full time again: what happened meanwhile is not known."""
        known = self._heard
        nothing = Heard(now_s, None, None)
        self._heard = OrderedDict((device, known.get(device, nothing)._replace(at_s=now_s)) for device in online)

    def is_gap(self, batch: TelemetryBatch, now_s: float) -> bool:
        """Note a batch; say whether any may be missing before it: by its number, or by the silence of its source."""
        before = self._sources.pop(batch.source, None)
        nobody_spoke = self._is_all_silent(now_s) and bool(self._sources or before)
        self._sources[batch.source] = Source(batch.number, now_s)
        while len(self._sources) > SOURCES_MAX:
            self._sources.popitem(last=False)
        if before is None:
            return nobody_spoke
        return batch.number != before.number + 1 or now_s - before.at_s > self._gap_after_s

    def _is_all_silent(self, now_s: float) -> bool:
        latest = max((source.at_s for source in self._sources.values()), default=float("-inf"))
        return now_s - latest > self._gap_after_s

    def hear(self, device_id: str, seen_at: datetime, now_s: float, source: str | None = None) -> None:
        self._heard[device_id] = Heard(now_s, seen_at, source)
        self._heard.move_to_end(device_id)

    def put_back(self, silent: Silent) -> None:
        """What was said of it could not be recorded: it is as overdue as before, unless it was heard meanwhile."""
        if silent.device_id not in self._heard:
            self._heard[silent.device_id] = Heard(silent.heard_s, silent.last_seen, None)
            self._heard.move_to_end(silent.device_id, last=False)

    def take_silent(self, now_s: float) -> list[Silent]:
        """Who has been silent for too long; each is named once. Nobody while telemetry itself is silent."""
        if self._is_all_silent(now_s):
            return []
        silent = []
        while self._heard:
            device_id, heard = next(iter(self._heard.items()))
            if now_s - heard.at_s < self._silent_after_s:
                break
            del self._heard[device_id]
            if self._is_cut_off(heard.source, now_s):
                # Its gateway has fallen silent, not necessarily the phone: once more the full time, to come back
                # by another gateway. Then its silence is its own.
                self._heard[device_id] = Heard(now_s, heard.seen_at, None)
            else:
                silent.append(Silent(device_id, heard.seen_at, heard.at_s))
        return silent

    def _is_cut_off(self, source: str | None, now_s: float) -> bool:
        if source is None:
            return False
        known = self._sources.get(source)
        return known is None or now_s - known.at_s > self._gap_after_s
