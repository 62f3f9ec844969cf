"""Any moment of the past, from a log in memory and checkpoints in a dict. The fold happens in a real process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import MarkOnline, RegisterDevice, RegisterPc
from drover.domain.fleet.state import DeviceStatus
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.history.travel import MomentNotYet, Place, TimeTraveller, TooManyTravellers
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

    async def before(self, partition, version, at):
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


@pytest.mark.parametrize("keep_at", [(), (1,), (0, 1, 2)])
async def test_a_moment_is_as_it_was_with_or_without_checkpoints(keep_at):
    past = Past()
    await past.make(4, keep_at)
    async with past.traveller() as traveller:

        async def at(**after):
            return msgspec.json.decode(await traveller.ask("fleet", NOON + timedelta(**after), statuses))

        assert await at(seconds=-1) == {}
        assert await at(seconds=10) == {"PHONE0000": DeviceStatus.OFFLINE}
        assert await at(seconds=100) == {"PHONE0000": DeviceStatus.ONLINE, "PHONE0001": DeviceStatus.ONLINE}
        everything = await at(hours=1)
        assert everything == {f"PHONE000{number}": DeviceStatus.ONLINE for number in range(4)}


async def test_the_same_question_is_answered_from_memory():
    past = Past()
    await past.make(1)
    async with past.traveller() as traveller:
        moment = NOON + timedelta(seconds=40)
        first = await traveller.ask("fleet", moment, statuses)
        assert await traveller.ask("fleet", moment, statuses) == first
    assert past.kept.asked == 1


async def test_two_at_once_and_no_more():
    past = Past()
    await past.make(1)
    async with past.traveller() as traveller:
        asked = [
            asyncio.create_task(traveller.ask("fleet", NOON + timedelta(seconds=number), statuses))
            for number in range(3)
        ]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [bytes, bytes, TooManyTravellers]


async def test_the_future_is_not_known():
    past = Past()
    async with past.traveller() as traveller:
        with pytest.raises(MomentNotYet):
            await traveller.ask("fleet", datetime.now(UTC) + timedelta(days=3650), statuses)
