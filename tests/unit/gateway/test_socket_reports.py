"""Reports over a socket: recorded, answered in order, a bounded number at once; and an agent that does not read."""

from __future__ import annotations

import asyncio
import time

import pytest
from aiohttp import WSMsgType

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.fleet.commands import MarkOnline, MarkSilent, Report, ReportCompleted, ReportRunning
from drover.domain.fleet.events import AttemptProgressed, AttemptStarted, AttemptSucceeded
from drover.gateway import agent_connection, agent_session
from drover.gateway.agent_connection import UNSENT_FRAMES_MAX, Connection
from drover.gateway.agent_protocol import Bye, CloseCode, Done
from drover.gateway.agent_reports import UNDER_WAY_MAX
from drover.service.api_keys import Role, issue_api_key
from drover.testing.waiting import eventually
from tests.unit.gateway.office import SECRET
from tests.unit.gateway.socket_farm import running_farm

COMPLETED = {"progress_pct": 100, "actual_duration_sec": 60}


@pytest.fixture
async def farm():
    async with running_farm() as farm:
        yield farm


async def a_phone_at_work(farm):
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    await agent.report(0, offer, "running", progress_pct=0)
    assert await agent.hear() == {"type": "done", "ref": 0}
    return agent, offer


async def a_pc_with_two_offers(farm):
    farm.phones(2)
    farm.job()
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    return agent, await agent.offered(), await agent.offered()


def of(offer):
    return lambda command: isinstance(command, Report) and command.assignment_id == offer["id"]


@pytest.mark.req("DF-10")
async def test_a_run_is_reported_from_its_beginning_to_its_end(farm):
    agent, offer = await a_phone_at_work(farm)
    for ref, fields in (
        (1, {"status": "running", "progress_pct": 40}),
        (2, {"status": "completed", **COMPLETED, "did_like": True}),
    ):
        await agent.report(ref, offer, **fields)
        assert await agent.hear() == {"type": "done", "ref": ref}
    assert farm.feed.count(AttemptStarted) == 1
    assert farm.feed.count(AttemptProgressed, progress_pct=40) == 1
    assert farm.feed.count(AttemptSucceeded, did_like=True) == 1


async def test_progress_within_a_step_is_done_without_the_writer(farm):
    agent, offer = await a_phone_at_work(farm)
    farm.writer.asked.clear()
    await agent.report(1, offer, "running", progress_pct=7)
    assert await agent.hear() == {"type": "done", "ref": 1}
    assert farm.writer.asked == []
    assert farm.telemetry.progressed[-1] == (offer["device_id"], 7)


@pytest.mark.req("DF-10")
async def test_a_refusal_says_what_http_would_say(farm):
    agent, offer = await a_phone_at_work(farm)
    await agent.report(1, {"id": "unknown", "run": 1}, "running")
    refused = await agent.hear()
    assert refused == {
        "type": "refused",
        "ref": 1,
        "status": 404,
        "code": "NOT_FOUND",
        "message": "Assignment not found",
        "details": None,
    }
    await agent.report(2, offer, "completed", progress_pct=50, actual_duration_sec=60)
    refused = await agent.hear()
    assert (refused["status"], refused["code"], refused["details"]["field"]) == (
        400,
        "VALIDATION_ERROR",
        "progress_pct",
    )
    await agent.report(3, offer, "completed", **COMPLETED)
    await agent.hear()
    await agent.report(4, offer, "completed", **COMPLETED)
    refused = await agent.hear()
    assert (refused["status"], refused["code"]) == (409, "CONFLICT")
    assert refused["message"] == "Assignment already completed"


@pytest.mark.req("DF-13")
async def test_a_report_of_an_earlier_run_is_refused_as_stale(farm):
    agent, offer = await a_phone_at_work(farm)
    farm.writer.do(MarkSilent(offer["device_id"]))
    farm.writer.do(MarkOnline(offer["device_id"]))
    assert (await agent.hear())["type"] == "withdrawn"
    assert (await agent.offered())["run"] == 2
    await agent.report(1, offer, "running", progress_pct=50)
    refused = await agent.hear()
    assert (refused["status"], refused["code"]) == (409, "STALE_ATTEMPT")
    assert refused["details"] == {"run": 1, "current_run": 2}


async def test_while_the_writer_is_away_a_report_is_refused_with_503_and_when_to_try_again(farm):
    agent, offer = await a_phone_at_work(farm)
    farm.writer.answer = Rejected(Code.UNAVAILABLE, "Nobody answered in time")
    await agent.report(1, offer, "completed", **COMPLETED)
    refused = await agent.hear()
    assert (refused["status"], refused["code"], refused["retry_after_s"]) == (503, "UNAVAILABLE", 2)


async def test_a_phone_with_a_key_of_its_own_reports_for_itself_alone(farm):
    own, other = farm.phones(2)
    farm.job()
    key = issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=farm.device_id(own))
    agent = await farm.connect({"apikey": key})
    await agent.hello(own)
    assert (await agent.offered())["device_id"] == farm.device_id(own)
    anothers = await (await farm.agent(other)).offered()
    await agent.report(1, anothers, "running", progress_pct=0)
    assert (await agent.hear())["status"] == 404


async def test_reports_of_different_work_go_side_by_side_and_are_answered_in_order(farm):
    agent, first, second = await a_pc_with_two_offers(farm)
    farm.writer.is_held = of(first)
    await agent.report(1, first, "running", progress_pct=0)
    await agent.report(2, second, "running", progress_pct=0)
    await eventually(lambda: farm.feed.count(AttemptStarted, assignment_id=second["id"]))
    await farm.writer.release()
    assert [(await agent.hear())["ref"] for _ in range(2)] == [1, 2]


async def test_reports_of_the_same_work_go_one_after_the_other(farm):
    agent, offer, _ = await a_pc_with_two_offers(farm)
    farm.writer.is_held = lambda command: isinstance(command, ReportRunning)
    await agent.report(1, offer, "running", progress_pct=0)
    await agent.report(2, offer, "completed", **COMPLETED)
    await agent.socket.send_str("nonsense")
    assert (await agent.hear())["type"] == "error", "both have been read"
    assert not any(isinstance(command, ReportCompleted) for command in farm.writer.asked)
    await farm.writer.release()
    assert [await agent.hear() for _ in range(2)] == [{"type": "done", "ref": 1}, {"type": "done", "ref": 2}]


async def test_a_report_behind_one_that_was_not_recorded_is_not_recorded_either(farm):
    agent, offer, _ = await a_pc_with_two_offers(farm)
    farm.writer.answer = Rejected(Code.UNAVAILABLE, "Nobody answered in time")
    farm.writer.is_held = of(offer)
    await agent.report(1, offer, "running", progress_pct=0)
    await agent.report(2, offer, "completed", **COMPLETED)
    await agent.socket.send_str("nonsense")
    assert (await agent.hear())["type"] == "error", "both have been read"
    await farm.writer.release()
    assert [(frame["ref"], frame["status"]) for frame in [await agent.hear(), await agent.hear()]] == [
        (1, 503),
        (2, 503),
    ]
    assert not any(isinstance(command, ReportCompleted) for command in farm.writer.asked)


async def test_a_report_that_cannot_be_read_is_refused_in_its_turn(farm):
    agent, offer = await a_phone_at_work(farm)
    farm.writer.is_held = of(offer)
    await agent.report(1, offer, "running", progress_pct=20)
    await agent.report(2, offer, "running", progress_pct="much")
    await eventually(lambda: len(farm.writer.asked) == 3)
    await farm.writer.release()
    assert await agent.hear() == {"type": "done", "ref": 1}
    refused = await agent.hear()
    assert (refused["ref"], refused["status"], refused["code"]) == (2, 400, "VALIDATION_ERROR")
    assert "progress_pct" in refused["message"]
    for ref in range(3, 20):  # it counts as an answer, not as a frame that was not understood
        await agent.report(ref, offer, "running", progress_pct="much")
        assert (await agent.hear())["ref"] == ref


async def test_with_64_reports_under_way_reading_stops_until_there_is_room(farm):
    agent, first, second = await a_pc_with_two_offers(farm)
    farm.writer.is_held = of(first)
    for ref in range(UNDER_WAY_MAX):
        await agent.report(ref, first, "running", progress_pct=0)
    await agent.say("heartbeat", serial_number="SERIAL0002")
    await eventually(lambda: farm.telemetry.heard)
    await agent.report(64, second, "running", progress_pct=0)
    await agent.say("heartbeat", serial_number="SERIAL0001")
    await (await farm.connect()).hello("SERIAL0001")  # time enough to read it, if anybody did
    farm.telemetry.heard.pop()
    heard = [device_id for device_id, _ in farm.telemetry.heard]
    assert heard == [farm.device_id("SERIAL0002")]
    assert farm.feed.count(AttemptStarted) == 0, "the 65th is not under way"
    await farm.writer.release()
    assert [(await agent.hear())["ref"] for _ in range(65)] == [*range(65)]
    await eventually(lambda: len(farm.telemetry.heard) == 2)


async def test_what_is_under_way_is_answered_before_the_server_says_goodbye(farm):
    agent, offer = await a_phone_at_work(farm)
    farm.writer.is_held = of(offer)
    await agent.report(1, offer, "completed", **COMPLETED)
    await eventually(lambda: isinstance(farm.writer.asked[-1], ReportCompleted))
    stopping = asyncio.create_task(farm.stop())
    await eventually(lambda: len(farm.sockets._around.registry) == 0)
    await farm.writer.release()
    assert await agent.hear() == {"type": "done", "ref": 1}
    assert (await agent.hear())["type"] == "bye"
    assert await agent.closed() == 1012
    await stopping


async def test_reports_that_nobody_answers_do_not_hold_up_the_goodbye(farm, monkeypatch):
    monkeypatch.setattr(agent_session, "REPORTS_END_WITHIN_S", 1.0)
    agent, offer = await a_phone_at_work(farm)
    farm.writer.is_held = of(offer)
    for ref in range(UNDER_WAY_MAX + 1):
        await agent.report(ref, offer, "completed", **COMPLETED)
    await eventually(lambda: isinstance(farm.writer.asked[-1], ReportCompleted))
    stopping = asyncio.create_task(farm.stop())
    began = asyncio.get_running_loop().time()
    assert (await agent.hear())["type"] == "bye"
    assert await agent.closed() == 1012
    await stopping
    assert asyncio.get_running_loop().time() - began < 1.9, "they are waited for once, and reading goes on for nobody"
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("agent-")] == []


async def test_a_report_whose_agent_hung_up_is_recorded_all_the_same(farm):
    agent, offer = await a_phone_at_work(farm)
    farm.writer.is_held = of(offer)
    await agent.report(1, offer, "completed", **COMPLETED)
    await eventually(lambda: isinstance(farm.writer.asked[-1], ReportCompleted))
    await agent.socket.close()
    await farm.writer.release()
    await eventually(lambda: farm.feed.count(AttemptSucceeded))


# An agent that does not read


class StuckSocket:
    """The peer takes nothing any more."""

    closed = False
    close_code = None

    def __init__(self) -> None:
        self.closed_with: int | None = None

    async def send_frame(self, data, kind):
        assert kind is WSMsgType.TEXT
        await asyncio.Event().wait()

    async def close(self, *, code):
        self.closed_with = code
        await asyncio.Event().wait()


class Transport:
    aborted = False

    def abort(self) -> None:
        self.aborted = True


class SlowSocket(StuckSocket):
    """The peer takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[bytes] = []
        self.takes = asyncio.Event()

    async def send_frame(self, data, kind):
        await self.takes.wait()
        await asyncio.sleep(0)
        self.taken.append(data)

    async def close(self, *, code):
        self.closed_with = code


async def test_what_is_unsent_goes_out_before_the_goodbye_and_the_close():
    socket = SlowSocket()
    connection = Connection(socket, None)
    async with connection.running():
        for ref in range(3):
            connection.put(Done(ref))
        connection.end(CloseCode.RESTART, bye=Bye("The server restarts"))
        socket.takes.set()
    assert [b'"done"' in frame for frame in socket.taken] == [True, True, True, False]
    assert b'"bye"' in socket.taken[-1]
    assert socket.closed_with == CloseCode.RESTART


async def test_an_agent_that_does_not_read_is_cut_off_and_holds_nobody_up(monkeypatch):
    monkeypatch.setattr(agent_connection, "CLOSE_WITHIN_S", 0.01)
    socket, transport = StuckSocket(), Transport()
    connection = Connection(socket, transport)
    left = []
    connection.on_end = lambda: left.append(True)
    async with connection.running():
        connection.put(Done(0))
        await eventually(lambda: connection._unsent.empty())  # the sender has it, and is stuck with it
        for ref in range(UNSENT_FRAMES_MAX):
            connection.put(Done(ref))
        assert not connection.is_ending
        connection.put(Done(UNSENT_FRAMES_MAX))
        assert connection.is_ending
        assert left == [True]
        connection.put(Done(UNSENT_FRAMES_MAX))
    assert socket.closed_with == CloseCode.TOO_SLOW
    assert transport.aborted
