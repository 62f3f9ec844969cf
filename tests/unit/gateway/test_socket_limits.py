"""What an agent's socket may send: a tight loop is refused, then disconnected, and nobody else is held up."""

from __future__ import annotations

from contextlib import suppress

import pytest
from aiohttp import ClientConnectionResetError, WSMsgType
from prometheus_client import REGISTRY

from drover.gateway import agent_greeting
from drover.gateway.limits import DeviceLimits
from drover.web.limits import Limits
from drover.web.permissions import Permissions
from drover.web.sockets import PINGS_BURST
from tests.unit.gateway.socket_farm import PATIENCE_S, Agent, running_farm

pytestmark = pytest.mark.req("SE-05")
PER_S, BURST = 0.001, 2
"""So seldom that a slow machine does not earn another turn while the test runs."""
HEARTBEATS, REFUSALS = BURST * 4, BURST * 10
FRAMES = 300


@pytest.fixture
async def farm():
    async with running_farm(per_s=PER_S, burst=BURST) as farm:
        yield farm


def refused() -> float:
    labels = {"principal": "device", "route": "/agent/v1/connect"}
    return REGISTRY.get_sample_value("drover_limited_uses_total", labels) or 0


async def frames_until_the_end(agent: Agent) -> list[dict]:
    frames = []
    while not (message := await agent.socket.receive()).type.name.startswith("CLOS"):
        frames.append(message.json())
    return frames


async def test_a_tight_loop_of_heartbeats_is_refused_then_disconnected_and_told_when_to_come_back(farm):
    (serial,) = farm.phones()
    agent, before = await farm.agent(serial), refused()
    for _ in range(FRAMES):
        await agent.say("heartbeat")
    *faults, bye = await frames_until_the_end(agent)
    assert len(faults) == REFUSALS + 1
    assert {fault["code"] for fault in faults} == {"RATE_LIMITED"}
    assert all(fault["retry_after_s"] > 0 for fault in faults)
    assert bye["type"] == "bye" and bye["reconnect_after_s"] > 0
    assert agent.socket.close_code == 4429
    assert refused() == before + REFUSALS + 1
    assert len(farm.telemetry.heard) < FRAMES, "the rest was not even read"


async def test_a_phone_in_a_tight_loop_does_not_end_the_socket_of_its_pc_at_once(farm):
    loops, calm = farm.phones(2)
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    for _ in range(HEARTBEATS + 3):
        await agent.say("heartbeat", serial_number=loops)
    await agent.say("heartbeat", serial_number=calm)
    assert [(await agent.hear())["code"] for _ in range(3)] == ["RATE_LIMITED"] * 3
    await agent.hears_nothing_else()
    assert farm.telemetry.heard[-1][0] == farm.device_id(calm)


@pytest.mark.parametrize(
    "frame",
    [
        {"type_": "heartbeat", "serial_number": "UNKNOWN01"},
        {"type_": "report", "ref": 1, "assignment_id": "a", "status": "nonsense"},
        {"type_": "report", "ref": 1, "assignment_id": "a", "status": "completed"},
    ],
    ids=["unknown phone", "bad report", "unknown work"],
)
async def test_no_frame_can_be_sent_without_end(farm, frame):
    farm.phones()
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    for _ in range(FRAMES):
        await agent.say(**frame)
    await frames_until_the_end(agent)
    assert agent.socket.close_code == 4429


@pytest.mark.parametrize(
    "report",
    [{"status": "running", "progress_pct": 7}, {"status": "completed", "progress_pct": 100}],
    ids=["progress", "end"],
)
async def test_nor_can_reports_of_known_work(farm, report):
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    offer = await agent.offered()
    for ref in range(FRAMES):
        await agent.report(ref, offer, **report)
    await frames_until_the_end(agent)
    assert agent.socket.close_code == 4429


async def test_a_phone_that_connects_too_often_is_turned_away(farm):
    (serial,) = farm.phones()
    for _ in range(BURST):
        await farm.agent(serial)
    agent = await farm.connect()
    assert (await agent.hello(serial))["type"] == "bye"
    assert await agent.closed() == 4429


async def test_who_guesses_keys_on_the_socket_is_turned_away_by_address(farm):
    object.__setattr__(farm.access, "limits", Limits(PER_S, 5))
    for _ in range(2):
        agent = await farm.connect({"apikey": "nonsense"})
        assert (await agent.hear())["code"] == "UNAUTHORIZED"
    agent = await farm.connect({"apikey": "nonsense"})
    assert (await agent.hear())["type"] == "bye"
    assert await agent.closed() == 4429


async def test_who_claims_unknown_phones_one_after_the_other_is_turned_away(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 0.0)
    object.__setattr__(farm.access, "limits", Limits(PER_S, 1))
    codes = []
    for number in range(11):
        agent = await farm.connect()
        await agent.hello(f"UNKNOWN{number:03}")
        codes.append(await agent.closed())
    assert codes == [4404] * 10 + [4429]


@pytest.mark.parametrize("kind", ["ping", "pong"])
async def test_nor_can_pings(farm, kind):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    for _ in range(2 * PINGS_BURST):
        with suppress(ClientConnectionResetError):  # it was closed meanwhile
            await getattr(agent.socket, kind)()
    await frames_until_the_end(agent)
    assert agent.socket.close_code == 1008


async def test_a_ping_now_and_then_is_answered(farm):
    (serial,) = farm.phones()
    agent = await farm.connect(autoping=False)
    await agent.hello(serial)
    await agent.socket.ping(b"still there?")
    answer = await agent.socket.receive(PATIENCE_S)
    assert (answer.type, answer.data) == (WSMsgType.PONG, b"still there?")
    await agent.hears_nothing_else()


async def test_who_may_not_connect_and_goes_on_is_turned_away(farm):
    object.__setattr__(farm.access, "limits", Limits(PER_S, 1))
    object.__setattr__(farm.access, "permissions", Permissions(anon="read"))
    answers = []
    for _ in range(11):
        agent = await farm.connect()
        frame = await agent.hear()
        answers.append((frame.get("code", frame["type"]), await agent.closed()))
    assert answers == [("42501", 4403)] * 10 + [("bye", 4429)]


@pytest.mark.control
async def test_without_the_limit_every_frame_of_a_tight_loop_is_taken(farm, monkeypatch):
    monkeypatch.setattr(DeviceLimits, "check_heartbeat", lambda *args: None)
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    for _ in range(FRAMES):
        await agent.say("heartbeat")
    await agent.hears_nothing_else()
    assert len(farm.telemetry.heard) > FRAMES
