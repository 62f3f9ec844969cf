"""A busy farm behind two gateways, one of which loses telemetry again and again: only its own phones are given time."""

from __future__ import annotations

import pytest

from drover.bus.telemetry import Beat
from drover.domain.fleet.commands import MarkOffline, MarkSilent
from drover.scheduler.watch import PresenceWatch
from tests.unit.scheduler.conftest import Hall

PHONES_EACH = 1_000
BEAT_EVERY_S = 10
LOSES_FROM_S, LOSES_EVERY_S = 20, 5
DIE_AT_S = 60
LASTS_S = 180


class BusyFarm:
    """Half the phones speak through g1 and half through g2, each once in ten seconds; every second one is at work. Once
    all have been heard, g1 loses a batch every five seconds, always with the beats of the same phones."""

    def __init__(self) -> None:
        self.hall = Hall()
        self.through = {gateway: [f"{gateway}-{n}" for n in range(PHONES_EACH)] for gateway in ("g1", "g2")}
        for phones in self.through.values():
            for number, device_id in enumerate(phones):
                self.hall.device(device_id, running=number % 2 == 0)
        self.dead: set[str] = set()
        self.said: list[tuple[int, str, type]] = []
        """(second, device, command)"""

    async def play(self) -> None:
        lost = 0
        for second in range(1, LASTS_S + 1):
            self.hall.clock.advance(seconds=1)
            if second == DIE_AT_S:
                self.dead = {device_id for phones in self.through.values() for device_id in phones[:40]}
            if second >= LOSES_FROM_S and second % LOSES_EVERY_S == 0:
                lost = 1
            else:
                self.hall.batch("g1", *self._beats("g1", second), lost=lost)
                lost = 0
            self.hall.batch("g2", *self._beats("g2", second))
            while self.hall.watch.sweep() or self.hall.writer.waiting:
                await self._answer(second)

    def _beats(self, gateway: str, second: int) -> list[Beat]:
        now = self.hall.clock.now()
        due = self.through[gateway][second % BEAT_EVERY_S :: BEAT_EVERY_S]
        return [
            Beat(device_id, now, None, self._work(device_id, second)) for device_id in due if self._speaks(device_id)
        ]

    def _speaks(self, device_id: str) -> bool:
        return device_id not in self.dead

    def _work(self, device_id: str, second: int):
        return (
            self.hall.work(second * 100 // LASTS_S, device_id) if self.hall.fleet.devices[device_id].running else None
        )

    async def _answer(self, second: int) -> None:
        for command in self.hall.writer.asked():
            self.said.append((second, command.device_id, type(command)))
            device = self.hall.fleet.devices[command.device_id]
            if isinstance(command, MarkSilent):
                self.hall.end(command.device_id)
            device.alive = False
        await self.hall.writer.answer()

    def of(self, gateway: str) -> dict[str, tuple[int, type]]:
        return {device_id: (second, what) for second, device_id, what in self.said if device_id.startswith(gateway)}


@pytest.mark.req("DF-04", "DF-05")
async def test_gaps_of_one_gateway_keep_no_dead_phone_of_the_other_online():
    farm = BusyFarm()
    await farm.play()
    found = farm.of("g2")
    assert found.keys() == {phone for phone in farm.dead if phone.startswith("g2")}, "those, and no phone that lives"
    for number, phone in enumerate(farm.through["g2"][:40]):
        second, what = found[phone]
        last_heard_s = DIE_AT_S - 1 - (DIE_AT_S - 1 - number) % BEAT_EVERY_S
        silent_s, expected = (60, MarkSilent) if number % 2 == 0 else (30, MarkOffline)
        assert (second - last_heard_s, what) == (silent_s, expected), phone


@pytest.mark.req("DF-04", "DF-05")
async def test_no_phone_is_lost_whose_beats_its_gateway_lost():
    farm = BusyFarm()
    await farm.play()
    assert farm.of("g1").keys() <= farm.dead


@pytest.mark.control
async def test_if_a_gap_restarted_the_whole_farm_dead_phones_of_both_would_stay_online(monkeypatch):
    def restart_everybody(watch, fleet, now_s):
        if watch._missed:
            watch._restart(fleet)

    monkeypatch.setattr(PresenceWatch, "_restart_missed", restart_everybody)
    farm = BusyFarm()
    await farm.play()
    assert farm.said == []


@pytest.mark.control
async def test_without_restarts_phones_that_live_would_lose_their_work(monkeypatch):
    monkeypatch.setattr(PresenceWatch, "_restart_missed", lambda watch, fleet, now_s: None)
    farm = BusyFarm()
    await farm.play()
    assert farm.of("g1").keys() - farm.dead
