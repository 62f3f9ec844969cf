"""Last-seen of every online device, outside decider state: volatile, ordered by age, and started anew after any gap."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from drover.bus.telemetry import TelemetryBatch


class Silent(NamedTuple):
    device_id: str
    last_seen: datetime | None


class Presence:
    """No clock and no I/O in here: `now_s` is any clock that only goes forward."""

    def __init__(self, silent_after_s: float, gap_after_s: float) -> None:
        self._silent_after_s = silent_after_s
        self._gap_after_s = gap_after_s
        self._heard: OrderedDict[str, tuple[float, datetime | None]] = OrderedDict()
        """Oldest first, so that finding who is overdue looks at nobody else."""
        self._numbers: dict[str, int] = {}
        self._batch_at: float | None = None

    def __len__(self) -> int:
        return len(self._heard)

    def restart(self, online: Iterable[str], now_s: float) -> None:
        """Give every online device its full time again: what happened meanwhile is not known."""
        known = self._heard
        self._heard = OrderedDict((device, (now_s, known.get(device, (0, None))[1])) for device in online)

    def is_gap(self, batch: TelemetryBatch, now_s: float) -> bool:
        """Note a batch; say whether any may be missing before it, by its number or by the silence."""
        number_before = self._numbers.get(batch.source)
        self._numbers[batch.source] = batch.number
        silence = self._batch_at is not None and now_s - self._batch_at > self._gap_after_s
        self._batch_at = now_s
        return silence or (number_before is not None and batch.number != number_before + 1)

    def hear(self, device_id: str, seen_at: datetime, now_s: float) -> None:
        self._heard[device_id] = (now_s, seen_at)
        self._heard.move_to_end(device_id)

    def forget(self, device_id: str) -> None:
        self._heard.pop(device_id, None)

    def take_silent(self, now_s: float) -> list[Silent]:
        """Who has been silent for too long; each is named once. Nobody while telemetry itself is silent."""
        if self._batch_at is None or now_s - self._batch_at > self._gap_after_s:
            return []
        silent = []
        while self._heard:
            device_id, (heard_s, seen_at) = next(iter(self._heard.items()))
            if now_s - heard_s < self._silent_after_s:
                break
            del self._heard[device_id]
            silent.append(Silent(device_id, seen_at))
        return silent
