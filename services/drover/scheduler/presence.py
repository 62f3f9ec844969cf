"""Remembers when each device last sent a sign of life, in memory only. After a gap in the telemetry of a gateway, the
timers of its devices restart.

It does not decide what a silence means.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable
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
    """The gateway that reported the sign of life. None: no sign of life is known."""
    extended: bool = False
    """Whether the timer was restarted without a sign of life, because the device's gateway, or a gateway that may be
    the device's, fell silent. A timer is restarted in this way only once, until the device is heard or its gateway
    sends messages again."""


class Presence:
    """The time of each device's last sign of life. No clock and no I/O: `now_s` is the time of any monotonic clock."""

    def __init__(self, silent_after_s: float, sources: Sources) -> None:
        self._silent_after_s = silent_after_s
        self._sources = sources
        self._heard: OrderedDict[str, Heard] = OrderedDict()
        """The last sign of life of each device, oldest first, so that overdue devices are found without checking the
        others."""

    def __len__(self) -> int:
        return len(self._heard)

    def restart(self, devices: Iterable[str], now_s: float) -> None:
        """Restart the timers of these devices, and forget all others, after a gap in the telemetry."""
        known = self._heard
        nothing = Heard(now_s, None, None)
        self._heard = OrderedDict(
            (device, known.get(device, nothing)._replace(at_s=now_s, extended=False)) for device in devices
        )

    def restart_of(self, sources: Container[str], now_s: float) -> list[str]:
        """Restart the timers of the devices of these gateways, after gaps in their telemetry. Returns these devices.

        A device whose gateway is not known may be one of theirs, so its timer restarts, too, but only once: a gateway
        with many gaps must not keep a dead device online.
        """
        of_them = [
            (device_id, heard)
            for device_id, heard in self._heard.items()
            if (heard.source is None and not heard.extended) or (heard.source is not None and heard.source in sources)
        ]
        for device_id, heard in of_them:
            self._set(device_id, heard._replace(at_s=now_s, extended=heard.source is None))
        return [device_id for device_id, _ in of_them]

    def hear(self, device_id: str, seen_at: datetime, now_s: float, source: str) -> None:
        self._set(device_id, Heard(now_s, seen_at, source))

    def is_heard(self, device_id: str, now_s: float) -> bool:
        """Whether the device recently sent a sign of life, through a gateway that is not silent."""
        heard = self._heard.get(device_id)
        if heard is None or heard.source is None or heard.extended or now_s - heard.at_s >= self._silent_after_s:
            return False
        return not self._sources.is_cut_off(heard.source, now_s)

    def start_again(self, device_id: str, now_s: float) -> None:
        """Restart the timer of a device after its silence was handled. If nothing changes, the device becomes overdue
        again."""
        heard = self._heard.get(device_id)
        if heard is not None:
            self._set(device_id, heard._replace(at_s=now_s))

    def forget(self, device_id: str) -> None:
        self._heard.pop(device_id, None)

    def overdue(self, now_s: float) -> list[Silent]:
        """Return devices that have been silent for too long, oldest first, at every call until they send a sign of
        life, are restarted or forgotten. Empty while all gateways are silent."""
        if self._sources.are_all_silent(now_s):
            return []
        silent, cut_off = [], []
        for device_id, heard in self._heard.items():
            for_s = now_s - heard.at_s
            if for_s < self._silent_after_s:
                break
            if heard.source is not None and not heard.extended and self._sources.is_cut_off(heard.source, now_s):
                cut_off.append((device_id, heard))
            else:
                silent.append(Silent(device_id, heard.seen_at, for_s))
        for device_id, heard in cut_off:
            # The gateway fell silent, not necessarily the phone: restart the phone's timer once, so that the phone can
            # come back through another gateway.
            self._set(device_id, heard._replace(at_s=now_s, extended=True))
        return silent

    def _set(self, device_id: str, heard: Heard) -> None:
        self._heard[device_id] = heard
        self._heard.move_to_end(device_id)
