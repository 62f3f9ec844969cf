"""Handing out: each run is recorded as sent once, whoever asks for it and however often."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Accepted, Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import AssignJob, CancelJob, CreateJob, FireOverdue, MarkOnline, RegisterDevice
from drover.domain.fleet.events import Target
from drover.domain.fleet.state import Phase
from drover.gateway.offers import Offers
from drover.gateway.roster import Roster
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.errors import ApiError
from tests.unit.gateway.conftest import JOB, Reached
from tests.unit.gateway.office import Writer, device_id, fleet_client

AGENT = Principal(Role.ANON, "anon", float("inf"))
PHONE = device_id(1)
OTHER_JOB = JOB.replace("a", "b")
NAMED = JOB.replace("a", "c")


class SlowBus:
    """Holds commands back until it is let go."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.go = asyncio.Event()
        self.asked = 0

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        self.asked += 1
        await self.go.wait()
        return await self.writer.send(context, command, by=by, id=id, trace=trace)


class Meanwhile(Reached):
    """While somebody waits for the roster, something happens."""

    happens = staticmethod(lambda: None)

    async def wait(self, context, seq, timeout_s):
        self.happens()
        return True


class Desk:
    def __init__(self) -> None:
        self.roster = Roster()
        self.writer = Writer(self.roster)
        self.bus = SlowBus(self.writer)
        self.roster_at = Meanwhile()
        self.offers = Offers(self.roster, fleet_client(self.bus, Reached(), self.roster_at))
        self.writer.do(RegisterDevice(PHONE, "SERIAL0001", "P1-G1", "PC-01"))
        self.writer.do(MarkOnline(PHONE))
        self.writer.do(CreateJob(job_id=JOB, target_url="https://youtu.be/abc"))

    @property
    def waiting(self):
        return self.offers.waiting(PHONE)


async def test_two_who_fetch_the_same_at_once_share_one_delivery():
    desk = Desk()
    fetching = [asyncio.create_task(desk.offers.deliver(desk.waiting, AGENT)) for _ in range(3)]
    await asyncio.sleep(0)
    fetching.pop().cancel()  # one hangs up; the others get it all the same
    desk.bus.go.set()
    first, second = await asyncio.gather(*fetching)
    assert first == second
    assert first["jobs"]["id"] == JOB
    assert desk.bus.asked == 1


async def test_it_is_recorded_before_it_is_given():
    desk = Desk()
    fetching = asyncio.create_task(desk.offers.deliver(desk.waiting, AGENT))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not fetching.done()
    desk.bus.go.set()
    row = await fetching
    assert row["sent_at"] is not None
    assert desk.writer.fleet.state.assignments[row["id"]].phase is Phase.SENT


async def test_a_writer_that_takes_it_back_instead_gives_nothing_even_to_a_late_roster():
    desk = Desk()
    desk.bus.go.set()
    desk.writer.answer = Accepted(99, None)  # something was recorded, but not that it was sent
    assert await desk.offers.deliver(desk.waiting, AGENT) is None


async def test_what_was_handed_out_anew_meanwhile_is_not_given_by_an_old_hand():
    desk = Desk()
    desk.bus.go.set()
    desk.writer.do(CancelJob(JOB))
    desk.writer.do(CreateJob(job_id=OTHER_JOB, target_url="https://youtu.be/abc", target=Target(device_ids=())))
    desk.writer.do(AssignJob(NAMED, OTHER_JOB, PHONE))
    offer = desk.waiting
    assert (offer.assignment_id, offer.run) == (NAMED, 1)

    def taken_back_and_offered_again():
        for minutes in (1, 6):  # it was not begun in time; later its device may have it again
            desk.writer.fleet.after(minutes=minutes)
            desk.writer.do(FireOverdue())

    desk.roster_at.happens = taken_back_and_offered_again
    assert await desk.offers.deliver(offer, AGENT) is None
    assert (desk.waiting.assignment_id, desk.waiting.run) == (NAMED, 2)


async def test_what_another_gateway_sent_a_moment_ago_is_given():
    desk = Desk()
    desk.bus.go.set()
    desk.writer.answer = Accepted(0, None)
    assert (await desk.offers.deliver(desk.waiting, AGENT))["run"] == 1


@pytest.mark.parametrize("code", [Code.NOT_FOUND, Code.CONFLICT, Code.STALE_ATTEMPT])
async def test_what_is_gone_is_not_given(code):
    desk = Desk()
    desk.bus.go.set()
    desk.writer.answer = Rejected(code, "gone")
    assert await desk.offers.deliver(desk.waiting, AGENT) is None


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.OVERLOADED])
async def test_what_cannot_be_recorded_is_not_given_and_can_be_tried_again(code):
    desk = Desk()
    desk.bus.go.set()
    desk.writer.answer = Rejected(code, "not now")
    with pytest.raises(ApiError) as refused:
        await desk.offers.deliver(desk.waiting, AGENT)
    assert refused.value.status == 503
    desk.writer.answer = None
    assert await desk.offers.deliver(desk.waiting, AGENT) is not None


async def test_a_delivery_that_failed_can_be_tried_again():
    desk = Desk()
    desk.bus.go.set()
    desk.writer.answer = RuntimeError("lost")
    with pytest.raises(RuntimeError):
        await desk.offers.deliver(desk.waiting, AGENT)
    desk.writer.answer = None
    assert await desk.offers.deliver(desk.waiting, AGENT) is not None
