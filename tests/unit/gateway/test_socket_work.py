"""Work over a socket: it is pushed at once, recorded before, withdrawn when it is over, and survives a reconnect."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Rejected
from drover.domain.backoff import Backoff
from drover.domain.errors import Code
from drover.domain.fleet.commands import (
    AssignJob,
    CancelAssignment,
    ChangeDevice,
    MarkOffline,
    MarkOnline,
    MarkSilent,
    MarkStalled,
    PauseJob,
    ResumeJob,
    SendAttempt,
)
from drover.domain.fleet.events import AssignmentCancelled, AttemptCreated, AttemptSent, Target
from drover.gateway import agent_delivery, agent_greeting
from drover.gateway.agent_delivery import DeliveryContext
from drover.testing.waiting import eventually
from tests.unit.gateway.office import device_id
from tests.unit.gateway.socket_farm import running_farm


@pytest.fixture
async def farm():
    async with running_farm() as farm:
        yield farm


async def taken(agent, offer):
    await agent.report(1, offer, "running", progress_pct=0)
    assert await agent.hear() == {"type": "done", "ref": 1}


# Offers


@pytest.mark.req("DF-09")
async def test_what_waits_is_offered_after_the_welcome_with_its_job(farm):
    (serial,) = farm.phones()
    job_id = farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    assert (offer["device_id"], offer["status"], offer["run"]) == (farm.device_id(serial), "pending", 1)
    assert (offer["jobs"]["id"], offer["jobs"]["target_url"]) == (job_id, "https://youtu.be/1")
    assert offer["sent_at"] is not None


@pytest.mark.req("DF-09")
async def test_work_is_pushed_at_once_to_the_phone_that_it_is_for(farm):
    serials = farm.phones(3)
    agents = [await farm.agent(serial) for serial in serials]
    farm.job()
    for serial, agent in zip(serials, agents, strict=True):
        assert (await agent.offered())["device_id"] == farm.device_id(serial)
        await agent.hears_nothing_else()


@pytest.mark.req("DF-09")
async def test_it_is_recorded_as_sent_before_it_is_pushed_and_once(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    farm.writer.is_held = lambda command: isinstance(command, SendAttempt)
    farm.job()
    await eventually(lambda: farm.writer.asked)
    await agent.socket.send_str("nonsense")
    assert (await agent.hear())["type"] == "error", "while it is not recorded, it is not pushed"
    await farm.writer.release()
    await agent.offered()
    assert farm.feed.count(AttemptSent) == 1


async def test_nothing_is_sent_for_a_phone_that_is_not_connected(farm):
    here, _ = farm.phones(2)
    agent = await farm.agent(here)
    farm.job()
    await agent.offered()
    await agent.hears_nothing_else()
    assert farm.feed.count(AttemptCreated) == 2
    assert farm.feed.count(AttemptSent, device_id=farm.device_id(here)) == farm.feed.count(AttemptSent) == 1


async def test_a_pc_is_offered_what_is_for_its_phones_those_included_that_come_later(farm):
    farm.phones(2, pc="PC-01")
    farm.phones(2, pc="PC-02")
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    farm.job()
    assert {(await agent.offered())["device_id"] for _ in range(2)} == {*farm.roster.fleet.pcs["PC-01"].devices}
    (later,) = farm.phones(pc="PC-01")
    assert (await agent.offered())["device_id"] == farm.device_id(later)
    moved = farm.device_id("SERIAL0001")
    farm.writer.do(ChangeDevice(moved, pc_id="PC-02"))
    await agent.hears_nothing_else()


async def test_the_offers_of_one_commit_go_to_the_log_together_but_not_all_at_once(farm, monkeypatch):
    context: DeliveryContext = farm.sockets._around.context
    context.deliveries = asyncio.Semaphore(8)
    farm.phones(20)
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    farm.writer.is_held = lambda command: True
    farm.job()
    await eventually(lambda: len(farm.writer.asked) == 8)
    await agent.socket.send_str("nonsense")
    await agent.hear()
    assert len(farm.writer.asked) == 8
    await farm.writer.release()
    assert len({(await agent.offered())["device_id"] for _ in range(20)}) == 20


async def test_while_the_writer_is_away_an_offer_is_tried_again(farm, monkeypatch):
    monkeypatch.setattr(agent_delivery, "DELIVERY", Backoff(first_s=0.0, max_s=0.0))
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    farm.writer.answer = Rejected(Code.UNAVAILABLE, "Nobody answered in time")
    farm.writer.is_held = lambda command: len(farm.writer.asked) == 3
    farm.job()
    await eventually(lambda: len(farm.writer.asked) == 3)
    farm.writer.answer = None
    await farm.writer.release()
    assert (await agent.offered())["run"] == 1


async def test_an_offer_that_could_not_be_recorded_for_long_is_left_to_the_clock(farm, monkeypatch):
    monkeypatch.setattr(agent_delivery, "DELIVERY", Backoff(first_s=0.0, max_s=0.0))
    (serial,) = farm.phones()
    await farm.agent(serial)
    farm.writer.answer = Rejected(Code.UNAVAILABLE, "Nobody answered in time")
    farm.job()
    await eventually(lambda: not farm.sockets._around.context.holder)
    assert len(farm.writer.asked) == agent_delivery.DELIVERY_TRIES_MAX


async def test_an_offer_that_is_taken_back_on_its_way_is_not_pushed(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    farm.writer.is_held = lambda command: isinstance(command, SendAttempt)
    job_id = farm.job()
    await eventually(lambda: farm.writer.asked)
    farm.writer.do(PauseJob(job_id))
    await farm.writer.release()
    await agent.hears_nothing_else()
    assert farm.feed.count(AttemptSent) == 0


async def test_an_offer_whose_record_comes_back_after_its_end_is_not_pushed(farm):
    """Recorded as sent, then taken back, and only then does this gateway get the answer."""
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    job_id = farm.job(is_active=False)
    send = farm.writer.send

    async def slow_send(context, command, **rest):
        outcome = await send(context, command, **rest)
        if isinstance(command, SendAttempt):
            farm.writer.do(PauseJob(job_id))
        return outcome

    farm.writer.send = slow_send
    farm.writer.do(ResumeJob(job_id))
    await eventually(lambda: farm.feed.count(AttemptSent))
    await agent.hears_nothing_else()


# Reconnects


@pytest.mark.req("DF-13")
async def test_after_a_reconnect_what_was_sent_is_given_again_as_the_same_run(farm):
    (serial,) = farm.phones()
    farm.job()
    first = await (await farm.agent(serial)).offered()
    agent = await farm.agent(serial)
    again = await agent.offered()
    assert (again["id"], again["run"]) == (first["id"], 1)
    await agent.hears_nothing_else()
    assert farm.feed.count(AttemptSent) == 1


@pytest.mark.req("DF-13")
@pytest.mark.parametrize("running", [False, True])
async def test_after_a_reconnect_an_agent_goes_on_with_what_it_holds(farm, running):
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    if running:
        await taken(agent, offer)
    agent = await farm.connect()
    welcome = await agent.hello(serial, holding=[(offer["id"], 1)])
    assert welcome["holding"] == [{"assignment_id": offer["id"], "run": 1, "verdict": "continue"}]
    await agent.hears_nothing_else()
    await agent.report(7, offer, "completed", progress_pct=100, actual_duration_sec=60)
    assert await agent.hear() == {"type": "done", "ref": 7}


@pytest.mark.req("DF-13")
async def test_after_a_reconnect_what_was_rolled_back_is_dropped_and_starts_over_as_a_new_run(farm):
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    await taken(agent, offer)
    await agent.socket.close()
    farm.writer.do(MarkSilent(farm.device_id(serial)))
    farm.writer.do(MarkOnline(farm.device_id(serial)))
    agent = await farm.connect()
    welcome = await agent.hello(serial, holding=[(offer["id"], 1)])
    assert [held["verdict"] for held in welcome["holding"]] == ["drop"]
    again = await agent.offered()
    assert (again["id"], again["run"]) == (offer["id"], 2)


@pytest.mark.req("DF-13")
async def test_what_has_ended_and_what_is_anothers_is_dropped_what_is_unknown_here_is_not(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 0.01)
    mine, other = farm.phones(2)
    farm.job()
    agent, neighbour = await farm.agent(mine), await farm.agent(other)
    offer, anothers = await agent.offered(), await neighbour.offered()
    await taken(agent, offer)
    await agent.report(2, offer, "completed", progress_pct=100, actual_duration_sec=60)
    await agent.hear()
    agent = await farm.connect()
    welcome = await agent.hello(mine, holding=[(offer["id"], 1), ("unknown", 1), (anothers["id"], 1)])
    assert [held["verdict"] for held in welcome["holding"]] == ["drop", "continue", "drop"], "the writer knows"


@pytest.mark.req("DF-13")
async def test_an_agent_that_knows_more_than_this_gateway_is_not_told_to_drop_it(farm):
    """It was given its work by another gateway, a moment ago."""
    (serial,) = farm.phones()
    farm.feed.lags = True
    farm.job()
    (created,) = [event for event in farm.feed.events if isinstance(event, AttemptCreated)]
    farm.writer.do(SendAttempt(created.assignment_id, 1))
    agent = await farm.connect()
    await agent.say("hello", serial_number=serial, holding=[{"assignment_id": created.assignment_id, "run": 1}])
    await farm.connect()  # time enough to read it
    farm.feed.catch_up()
    assert [held["verdict"] for held in (await agent.hear())["holding"]] == ["continue"]
    await agent.hears_nothing_else()


@pytest.mark.req("DF-13")
async def test_where_this_gateway_stays_behind_a_later_run_goes_on_and_the_writer_judges_it(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 0.01)
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    await taken(agent, offer)
    farm.feed.lags = True
    farm.writer.do(MarkSilent(farm.device_id(serial)))
    farm.writer.do(MarkOnline(farm.device_id(serial)))
    farm.writer.do(SendAttempt(offer["id"], 2))
    agent = await farm.connect()
    welcome = await agent.hello(serial, holding=[(offer["id"], 2)])
    assert [held["verdict"] for held in welcome["holding"]] == ["continue"]
    await agent.report(3, offer | {"run": 2}, "running", progress_pct=0)
    assert await agent.hear() == {"type": "done", "ref": 3}
    farm.feed.catch_up()
    await agent.hears_nothing_else()


async def test_of_two_sockets_of_one_phone_the_newer_one_has_the_work_and_the_other_is_closed(farm):
    (serial,) = farm.phones()
    old = await farm.agent(serial)
    new = await farm.agent(serial)
    bye = await old.hear()
    assert (bye["type"], bye["reconnect_after_s"]) == ("bye", 30)
    farm.job()
    await new.offered()
    await new.hears_nothing_else()
    assert await old.closed() == 1000
    assert farm.feed.count(AttemptSent) == 1


async def test_an_offer_that_is_on_its_way_to_the_old_socket_is_pushed_to_the_new_one_alone(farm):
    (serial,) = farm.phones()
    old = await farm.agent(serial)
    farm.writer.is_held = lambda command: isinstance(command, SendAttempt)
    farm.job()
    await eventually(lambda: farm.writer.asked)
    new = await farm.agent(serial)
    await farm.writer.release()
    assert (await new.offered())["run"] == 1
    assert (await old.hear())["type"] == "bye"
    assert await old.closed() == 1000
    assert farm.feed.count(AttemptSent) == 1


async def test_a_hello_that_took_long_does_not_throw_out_a_newer_socket(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 60.0)
    (serial,) = farm.phones()
    farm.feed.lags = True
    farm.job()
    (created,) = [event for event in farm.feed.events if isinstance(event, AttemptCreated)]
    old = await farm.connect()
    await old.say("hello", serial_number=serial, holding=[{"assignment_id": created.assignment_id, "run": 1}])
    new = await farm.agent(serial)
    farm.feed.catch_up()
    assert (await old.hear())["type"] == "bye"
    assert await old.closed() == 1000
    assert (await new.offered())["run"] == 1
    await new.hears_nothing_else()


async def test_a_phones_own_socket_goes_before_that_of_its_pc_which_takes_over_when_it_leaves(farm):
    own, other = farm.phones(2, pc="PC-01")
    agent = await farm.agent(own)
    pc = await farm.connect()
    await pc.hello(pc="PC-01")
    farm.job()
    offer = await agent.offered()
    assert offer["device_id"] == farm.device_id(own)
    assert (await pc.offered())["device_id"] == farm.device_id(other)
    await pc.hears_nothing_else()
    await agent.socket.close()
    again = await pc.offered()
    assert (again["id"], again["run"]) == (offer["id"], 1)


async def test_the_socket_of_a_pc_is_not_offered_what_a_phone_of_it_has_got_itself(farm):
    own, other = farm.phones(2, pc="PC-01")
    farm.job()
    offer = await (await farm.agent(own)).offered()
    pc = await farm.connect()
    welcome = await pc.hello(pc="PC-01", holding=[(offer["id"], 1)])
    assert len(welcome["devices"]) == 2
    assert (await pc.offered())["device_id"] == farm.device_id(other)
    await pc.hears_nothing_else()
    farm.writer.do(PauseJob(offer["job_id"]))
    assert (await pc.hear())["assignment_id"] != offer["id"]
    await pc.hears_nothing_else()


async def test_an_offer_that_is_on_its_way_to_the_pc_is_pushed_only_to_the_phones_own_socket_if_that_comes(farm):
    (own,) = farm.phones(pc="PC-01")
    pc = await farm.connect()
    await pc.hello(pc="PC-01")
    farm.writer.is_held = lambda command: isinstance(command, SendAttempt)
    farm.job()
    await eventually(lambda: farm.writer.asked)
    agent = await farm.agent(own)
    await farm.writer.release()
    assert (await agent.offered())["run"] == 1
    await pc.hears_nothing_else()


# Withdrawals


async def a_running_offer(farm):
    (serial,) = farm.phones()
    job_id = farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    await taken(agent, offer)
    return agent, offer, job_id


async def test_a_run_that_takes_too_long_is_withdrawn(farm):
    agent, offer, _ = await a_running_offer(farm)
    farm.writer.pass_time(minutes=20)
    withdrawn = {"type": "withdrawn", "assignment_id": offer["id"], "run": 1, "reason": "timed_out"}
    assert await agent.hear() == withdrawn
    assert (await agent.offered())["run"] == 2


async def test_a_run_that_is_lost_with_its_network_is_withdrawn(farm):
    agent, offer, _ = await a_running_offer(farm)
    farm.writer.do(MarkSilent(offer["device_id"]))
    assert (await agent.hear())["reason"] == "rolled_back"


async def test_a_run_that_the_server_finds_stalled_is_withdrawn(farm):
    agent, offer, _ = await a_running_offer(farm)
    farm.writer.do(MarkStalled(offer["id"], 1))
    assert (await agent.hear())["reason"] == "failed"


@pytest.mark.parametrize("how", ["paused", "cancelled", "not begun", "gone offline"])
async def test_an_offer_that_is_taken_back_is_withdrawn_once(farm, how):
    (serial,) = farm.phones()
    job_id = farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    if how == "not begun":
        farm.writer.pass_time(minutes=1)
    else:
        command = {
            "paused": PauseJob(job_id),
            "cancelled": CancelAssignment(offer["id"]),
            "gone offline": MarkOffline(offer["device_id"]),
        }[how]
        farm.writer.do(command)
    assert await agent.hear() == {"type": "withdrawn", "assignment_id": offer["id"], "run": 1, "reason": "cancelled"}
    await agent.hears_nothing_else()


async def test_a_run_whose_assignment_stays_is_withdrawn_too(farm):
    """It was assigned by name, so that it is not cancelled but waits."""
    (serial,) = farm.phones()
    job_id = farm.job(target=Target(device_ids=()))
    farm.writer.do(AssignJob(device_id(5), job_id, farm.device_id(serial)))
    agent = await farm.agent(serial)
    await agent.offered()
    farm.writer.do(PauseJob(job_id))
    assert (await agent.hear())["reason"] == "cancelled"
    assert farm.feed.count(AssignmentCancelled) == 0


async def test_a_run_is_withdrawn_with_its_assignment_whatever_else_is_said_of_it(farm):
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    cancelled = AssignmentCancelled(offer["id"], offer["job_id"], offer["device_id"], "any")
    cancelled.at = farm.writer.fleet.now
    farm.roster.apply([cancelled], farm.roster.seq + 1)
    assert (await agent.hear())["reason"] == "cancelled"


async def test_what_an_agent_said_it_holds_is_withdrawn_too(farm):
    agent, offer, _ = await a_running_offer(farm)
    agent = await farm.agent("SERIAL0001", holding=[(offer["id"], 1)])
    farm.writer.do(MarkSilent(offer["device_id"]))
    assert (await agent.hear())["type"] == "withdrawn"


@pytest.mark.parametrize("lags", [False, True])
async def test_what_the_agent_itself_reports_as_failed_is_not_withdrawn(farm, lags):
    agent, offer, _ = await a_running_offer(farm)
    farm.feed.lags = lags
    await agent.report(2, offer, "failed", error_code="VIDEO_NETWORK_ERROR")
    assert await agent.hear() == {"type": "done", "ref": 2}
    farm.feed.catch_up()
    await agent.hears_nothing_else()
    farm.writer.pass_time(seconds=10)
    assert (await agent.offered())["run"] == 2, "the retry is pushed when it is due"


async def test_a_failure_that_was_refused_leaves_the_run_to_be_withdrawn(farm):
    agent, offer, _ = await a_running_offer(farm)
    await agent.report(2, offer, "failed")
    assert (await agent.hear())["code"] == "VALIDATION_ERROR"
    farm.writer.pass_time(minutes=20)
    assert (await agent.hear())["reason"] == "timed_out"


async def test_when_a_run_is_completed_the_next_job_comes_at_once(farm):
    agent, offer, _ = await a_running_offer(farm)
    next_job = farm.job(2, target=Target(group_id="P1-G1"))
    await agent.report(2, offer, "completed", progress_pct=100, actual_duration_sec=60)
    frames = [await agent.hear(), await agent.hear()]
    assert {frame["type"] for frame in frames} == {"done", "offer"}
    (offer,) = [frame["assignment"] for frame in frames if frame["type"] == "offer"]
    assert offer["job_id"] == next_job
    assert [*farm.sockets._around.context.holder] == [offer["id"]], "what is done is forgotten"
