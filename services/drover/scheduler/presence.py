"""When every device was last heard, outside decider state: volatile, ordered by age, and started anew after any gap.

What a silence means for a device is not decided here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from drover.scheduler.sources import Sources


class Silent(NamedTuple):
    device_id: str
    last_seen: datetime | None
    for_s: float


class Heard(NamedTuple):
    at_s: float
    seen_at: datetime | None
    source: str | None
    """The gateway that heard it; None once that one's own silence has been taken into account."""


class Presence:
    """No clock and no I/O in here: `now_s` is any clock that only goes forward."""

    def __init__(self, silent_after_s: float, sources: Sources) -> None:
        self._silent_after_s = silent_after_s
        self._sources = sources
        self._heard: OrderedDict[str, Heard] = OrderedDict()
        """Oldest first, so that finding who is overdue looks at nobody else."""

    def __len__(self) -> int:
        return len(self._heard)

    def restart(self, devices: Iterable[str], now_s: float) -> None:
        """Give each of them its full time again, and forget all others: what happened meanwhile is not known."""
        known = self._heard
        nothing = Heard(now_s, None, None)
        self._heard = OrderedDict((device, known.get(device, nothing)._replace(at_s=now_s)) for device in devices)

    def hear(self, device_id: str, seen_at: datetime, now_s: float, source: str) -> None:
        self._set(device_id, Heard(now_s, seen_at, source))

    def is_heard(self, device_id: str, now_s: float) -> bool:
        """Itself, lately, and by a gateway that still speaks."""
        heard = self._heard.get(device_id)
        if heard is None or heard.source is None or now_s - heard.at_s >= self._silent_after_s:
            return False
        return not self._sources.is_cut_off(heard.source, now_s)

    def start_again(self, device_id: str, now_s: float) -> None:
        """Its silence has been dealt with. If that has changed nothing, it will be overdue once more."""
        heard = self._heard.get(device_id)
        if heard is not None:
            self._set(device_id, heard._replace(at_s=now_s))

    def forget(self, device_id: str) -> None:
        self._heard.pop(device_id, None)

    def overdue(self, now_s: float) -> list[Silent]:
        """Who has been silent for too long, oldest first: again each time, until it is heard, started again or
        forgotten. Nobody while telemetry itself is silent."""
        if self._sources.are_all_silent(now_s):
            return []
        silent, cut_off = [], []
        for device_id, heard in self._heard.items():
            for_s = now_s - heard.at_s
            if for_s < self._silent_after_s:
                break
            if heard.source is not None and self._sources.is_cut_off(heard.source, now_s):
                cut_off.append((device_id, heard))
            else:
                silent.append(Silent(device_id, heard.seen_at, for_s))
        for device_id, heard in cut_off:
            # Its gateway has fallen silent, not necessarily the phone: once more the full time, to come back by
            # another gateway. Then its silence is its own.
            self._set(device_id, Heard(now_s, heard.seen_at, None))
        return silent

    def _set(self, device_id: str, heard: Heard) -> None:
        self._heard[device_id] = heard
        self._heard.move_to_end(device_id)
