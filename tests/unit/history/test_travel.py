"""Any moment of the past, from a log in memory and checkpoints in a dict. The fold happens in a real process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from drover.domain.fleet.state import DeviceStatus
from drover.history.travel import MomentNotYet, TooManyTravellers
from drover.testing.scenario import NOON
from tests.unit.history.past import Past, statuses


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
