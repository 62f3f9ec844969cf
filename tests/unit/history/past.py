"""A history of phones in memory, with checkpoints kept by hand."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import MarkOnline, RegisterDevice, RegisterPc
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.history.travel import Place, TimeTraveller
from drover.testing.scenario import NOON, Scenario
from drover.writer.fold import Fold, FoldImage, encode_image


def fleet_decider():
    return FLEET


def statuses(fleet, at):
    return msgspec.json.encode({device.serial_number: device.status for device in fleet.devices.values()})


class Kept:
    """Checkpoints, by hand."""

    def __init__(self) -> None:
        self.images = []
        self.asked = 0

    def keep(self, fold):
        self.images.append(encode_image(fold))

    async def before(self, partition, versions, at):
        self.asked += 1
        fitting = [image for image in self.images if msgspec.msgpack.decode(image, type=FoldImage).at <= at]
        return fitting[-1] if fitting else None


class Past:
    """A history: one phone more every minute, each online half a minute later."""

    def __init__(self) -> None:
        self.log = MemoryLog(Partition("fleet"))
        self.kept = Kept()
        self.fold = Fold(FLEET)

    async def make(self, phones, keep_at=()):
        scenario, codec = Scenario(FLEET), Codec.of(FLEET)
        for number in range(phones):
            for command, later in (
                (RegisterPc("pc-1") if number == 0 else None, 0),
                (RegisterDevice(f"00000000-0000-7000-8000-{number:012d}", f"PHONE{number:04d}", "P1-G1", "pc-1"), 30),
                (MarkOnline(f"00000000-0000-7000-8000-{number:012d}"), 30),
            ):
                if command is None:
                    continue
                scenario.when(command)
                assert scenario.decision.events
                payload = codec.encode(scenario.decision.events)
                seq = await self.log.append(Commit(f"c{scenario.now}", 1, payload), self.fold.seq)
                self.fold.apply(await self.log.get(seq))
                scenario.after(seconds=later)
            if number in keep_at:
                self.kept.keep(self.fold)

    def traveller(self):
        place = Place(fleet_decider, self.log)
        return TimeTraveller({"fleet": place}, self.kept, now=lambda: NOON + timedelta(days=1)).running()
