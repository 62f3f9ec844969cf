"""An agent's socket: how it begins, what counts as a sign of life, what is too much, how it ends."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY

from drover.domain.fleet.commands import PauseJob, ResumeJob
from drover.domain.fleet.events import Target
from drover.gateway import agent_connection, agent_greeting
from drover.gateway.agent_protocol import FRAME_BYTES_MAX
from drover.service.api_keys import Role, issue_api_key, sign_api_key
from drover.testing.waiting import eventually
from tests.unit.gateway.office import SECRET, device_id
from tests.unit.gateway.socket_farm import running_farm

SOCKET = {"route": "/agent/v1/connect"}


@pytest.fixture
async def farm():
    async with running_farm() as farm:
        yield farm


# The hello


async def test_a_phone_is_welcomed_by_its_serial_number(farm):
    (serial,) = farm.phones()
    agent = await farm.connect()
    assert await agent.hello(serial) == {
        "type": "welcome",
        "devices": [{"id": farm.device_id(serial), "serial_number": serial}],
        "holding": [],
        "heartbeat_every_s": 10,
    }


async def test_a_pc_is_welcomed_with_all_its_phones(farm):
    serials = farm.phones(3, pc="PC-01")
    farm.phones(2, pc="PC-02")
    agent = await farm.connect()
    welcome = await agent.hello(pc="PC-01")
    assert [device["serial_number"] for device in welcome["devices"]] == serials


@pytest.mark.parametrize("headers", [{}, {"apikey": "nonsense"}])
async def test_without_a_good_key_the_socket_is_closed_with_4401(farm, headers):
    agent = await farm.connect(headers)
    assert (await agent.hear())["code"] == "UNAUTHORIZED"
    assert await agent.closed() == 4401


async def test_a_phone_with_a_key_of_its_own_speaks_for_itself_alone(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 0.01)
    own, other = farm.phones(2)
    key = issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=farm.device_id(own))
    assert (await (await farm.connect({"apikey": key})).hello(own))["type"] == "welcome"
    for whom in ({"serial": other}, {"pc": "PC-01"}, {"serial": "UNKNOWN01"}):
        agent = await farm.connect({"apikey": key})
        assert (await agent.hello(**whom))["type"] == "error"
        assert await agent.closed() == 4403


async def test_a_key_for_a_phone_that_is_not_registered_opens_nothing(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 0.01)
    (other,) = farm.phones()
    key = issue_api_key(SECRET, Role.DEVICE, now_s=time.time(), device_id=device_id(99))
    for whom, code in (({"serial": "UNKNOWN01"}, 4404), ({"serial": other}, 4403), ({"pc": "PC-01"}, 4403)):
        agent = await farm.connect({"apikey": key})
        assert (await agent.hello(**whom))["type"] == "error"
        assert await agent.closed() == code


@pytest.mark.parametrize("role", [Role.ANON, Role.SERVICE_ROLE])
async def test_a_key_that_is_bound_to_no_device_may_speak_for_a_pc(farm, role):
    farm.phones(pc="PC-01")
    agent = await farm.connect({"apikey": issue_api_key(SECRET, role, now_s=time.time())})
    assert (await agent.hello(pc="PC-01"))["type"] == "welcome"


@pytest.mark.parametrize("whom", [{"serial": "SERIAL9999"}, {"pc": "PC-99"}])
async def test_who_is_not_registered_is_sent_away_with_4404(farm, whom, monkeypatch):
    monkeypatch.setattr(agent_greeting, "BEHIND_WAIT_S", 0.01)
    agent = await farm.connect()
    assert (await agent.hello(**whom))["code"] == "NOT_FOUND"
    assert await agent.closed() == 4404


async def test_a_phone_that_was_registered_a_moment_ago_elsewhere_is_waited_for(farm):
    farm.feed.lags = True
    farm.phones(online=False)
    agent = await farm.connect()
    await agent.say("hello", serial_number="SERIAL0001")
    await farm.connect()  # time enough to read it
    farm.feed.catch_up()
    assert (await agent.hear())["type"] == "welcome"


@pytest.mark.parametrize(
    "said",
    [
        "hello",
        "[]",
        '{"type": "hello"}',
        '{"type": "hello", "serial_number": "SERIAL0001", "pc_id": "PC-01"}',
        '{"type": "hello", "serial_number": "SERIAL0001", "more": 1}',
        '{"type": "hello", "serial_number": "SERIAL0001", "holding": [{"run": 1}]}',
        '{"type": "heartbeat", "serial_number": "SERIAL0001"}',
    ],
)
async def test_after_a_bad_hello_the_socket_is_closed_with_4400(farm, said):
    farm.phones()
    agent = await farm.connect()
    await agent.socket.send_str(said)
    assert (await agent.hear())["type"] == "error"
    assert await agent.closed() == 4400


async def test_who_says_nothing_is_not_waited_for(farm, monkeypatch):
    monkeypatch.setattr(agent_greeting, "HELLO_WITHIN_S", 0.05)
    agent = await farm.connect()
    assert (await agent.hear())["message"].startswith("No hello")
    assert await agent.closed() == 4400


async def test_a_gateway_that_still_reads_who_is_there_asks_the_agent_to_come_back(farm):
    (serial,) = farm.phones()
    farm.roster.complete = False
    agent = await farm.connect()
    bye = await agent.hello(serial)
    assert (bye["type"], bye["reconnect_after_s"]) == ("bye", 2)
    assert await agent.closed() == 1012


async def test_a_plain_request_is_told_to_upgrade(farm):
    answer = await farm.client.get("/agent/v1/connect", headers=farm.anon)
    assert answer.status == 426


# Signs of life


async def test_every_frame_is_a_sign_of_life_of_the_phone(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    heard = farm.telemetry.heard
    assert heard == [(farm.device_id(serial), None)], "the hello"
    for said in ('{"type": "heartbeat"}', "nonsense", '{"type": "report", "ref": 1}'):
        heard.clear()
        await agent.socket.send_str(said)
        await eventually(lambda: heard)
        assert {device_id for device_id, _ in heard} == {farm.device_id(serial)}


async def test_what_a_heartbeat_claims_is_passed_on(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    await agent.say("heartbeat", serial_number=serial, status="busy", screen_locked=False, battery_pct=55)
    claims = {"status": "busy", "screen_locked": False, "battery_pct": 55}
    await eventually(lambda: (farm.device_id(serial), claims) in farm.telemetry.heard)


async def test_on_the_socket_of_a_pc_only_the_phone_that_is_named_is_alive(farm):
    named, _ = farm.phones(2)
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    await agent.say("heartbeat", serial_number=named, status="online")
    await eventually(lambda: farm.telemetry.heard)
    assert farm.telemetry.heard == [(farm.device_id(named), {"status": "online"})]


async def test_on_the_socket_of_a_pc_a_report_is_a_sign_of_life_of_the_phone_that_has_the_work(farm):
    farm.phones(2)
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    farm.job(target=Target(count=1))
    offer = await agent.offered()
    await agent.report(1, offer, "running", progress_pct=0)
    assert (await agent.hear())["type"] == "done"
    assert farm.telemetry.heard == []
    assert farm.telemetry.progressed == [(offer["device_id"], 0)]


async def test_the_heartbeat_of_a_phone_that_is_not_on_this_socket_is_an_error_that_ends_nothing(farm):
    here, elsewhere = *farm.phones(pc="PC-01"), *farm.phones(pc="PC-02")
    agent = await farm.connect()
    await agent.hello(pc="PC-01")
    for serial in [elsewhere, "SERIAL9999"] * 10:
        await agent.say("heartbeat", serial_number=serial)
        assert (await agent.hear())["code"] == "NOT_FOUND"
    await agent.say("heartbeat", serial_number=here)
    await agent.hears_nothing_else()
    assert [device_id for device_id, _ in farm.telemetry.heard] == [farm.device_id(here)]


# Too much


async def test_the_tenth_frame_that_is_not_understood_ends_the_socket(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    for number in range(9):
        await agent.socket.send_str("nonsense" if number % 2 else '{"type": "heartbeat", "status": "asleep"}')
        assert (await agent.hear())["type"] == "error"
    await agent.hears_nothing_else()
    await agent.hello(serial)  # a second one is not understood either
    assert await agent.closed() == 4400


async def test_a_binary_frame_is_not_understood(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    await agent.socket.send_bytes(b'{"type": "heartbeat"}')
    assert (await agent.hear())["type"] == "error"


async def test_a_frame_of_64_kib_is_read_and_a_larger_one_ends_the_socket_with_1009(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    await agent.socket.send_str('{"type": "heartbeat"}'.ljust(FRAME_BYTES_MAX))
    await agent.hears_nothing_else()
    await agent.socket.send_str('{"type": "heartbeat"}'.ljust(FRAME_BYTES_MAX + 1))
    assert await agent.closed() == 1009


async def test_a_key_that_expires_ends_the_socket_with_4401(farm):
    (serial,) = farm.phones()
    key = issue_api_key(SECRET, Role.ANON, now_s=time.time(), lifetime_s=60)
    agent = await farm.connect({"apikey": key})
    await agent.hello(serial)
    farm.clock_ahead = timedelta(minutes=2)
    await agent.say("heartbeat")
    assert (await agent.hear())["code"] == "TOKEN_EXPIRED"
    assert await agent.closed() == 4401
    assert farm.telemetry.heard == [(farm.device_id(serial), None)], "only the hello"


@pytest.mark.req("SE-01")
async def test_a_revoked_key_ends_its_sockets_at_once_and_no_others(farm):
    one, other = farm.phones(2)
    key = sign_api_key(farm.keys.signing, Role.ANON, key_id="key-1", now_s=time.time(), expires_s=time.time() + 60)
    with_key = await farm.connect({"apikey": key})
    await with_key.hello(one)
    without = await farm.agent(other)
    farm.keys.revoke("key-1")
    assert (await with_key.hear())["code"] == "UNAUTHORIZED"
    assert await with_key.closed() == 4401
    await without.hears_nothing_else()


@pytest.mark.req("SE-01")
async def test_a_key_that_is_revoked_before_the_hello_is_not_welcomed(farm):
    (serial,) = farm.phones()
    farm.job()
    key = sign_api_key(farm.keys.signing, Role.ANON, key_id="key-1", now_s=time.time(), expires_s=time.time() + 60)
    before, agent = REGISTRY.get_sample_value("drover_sockets_open", SOCKET) or 0, await farm.connect({"apikey": key})
    await eventually(lambda: REGISTRY.get_sample_value("drover_sockets_open", SOCKET) == before + 1)
    farm.keys.revoke("key-1")
    assert (await agent.hello(serial))["code"] == "UNAUTHORIZED"
    assert await agent.closed() == 4401
    assert farm.telemetry.heard == [], "it was no sign of life"


@pytest.mark.req("SE-01")
async def test_a_gateway_that_cannot_check_keys_sends_its_agents_away_to_come_back(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    farm.keys.cut_off()
    assert (await agent.hear())["type"] == "bye"
    assert await agent.closed() == 1012
    again = await farm.connect()
    assert (await again.hear())["code"] == "KEYS_UNKNOWN"
    assert await again.closed() == 1012


async def test_a_socket_from_which_no_heartbeat_comes_is_closed(farm, monkeypatch):
    monkeypatch.setattr(agent_connection, "SILENT_AFTER_S", 0.5)
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    for _ in range(5):
        await agent.say("heartbeat")
        await agent.hears_nothing_else()
    assert (await agent.hear())["type"] == "bye"
    assert await agent.closed() == 1001
    await eventually(lambda: len(farm.sockets._around.registry) == 0)


# The end


async def test_when_the_server_stops_every_agent_is_told_to_come_back(farm):
    serials = farm.phones(3)
    agents = [await farm.agent(serial) for serial in serials]
    agents.append(await farm.connect())  # has not said hello yet
    stopping = asyncio.create_task(farm.stop())
    for agent in agents:
        bye = await agent.hear()
        assert (bye["type"], bye["reconnect_after_s"]) == ("bye", 1)
        assert await agent.closed() == 1012
    await stopping


async def test_frames_and_offers_are_counted(farm):
    def value(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, labels) or 0.0

    def counts() -> list[float]:
        return [
            value("drover_gateway_agent_frames_total", direction="in", type="hello"),
            value("drover_gateway_agent_frames_total", direction="in", type="bad"),
            value("drover_gateway_agent_frames_total", direction="out", type="error"),
            value("drover_gateway_offers_pushed_total"),
            value("drover_sockets_open", route="/agent/v1/connect"),
        ]

    before = counts()
    (serial,) = farm.phones()
    farm.job()
    agent = await farm.agent(serial)
    await agent.offered()
    await agent.socket.send_str("nonsense")
    await agent.hear()
    assert [after - earlier for after, earlier in zip(counts(), before, strict=True)] == [1, 1, 1, 1, 1]


async def test_a_phone_that_hangs_up_is_forgotten_and_sent_nothing_more(farm):
    (serial,) = farm.phones()
    job_id = farm.job()
    agent = await farm.agent(serial)
    await agent.offered()
    await agent.socket.close()
    around = farm.sockets._around
    await eventually(lambda: len(around.registry) == 0)
    assert around.context.holder == {}
    farm.writer.asked.clear()
    farm.writer.do(PauseJob(job_id))
    farm.writer.do(ResumeJob(job_id))
    assert around.context.offers.waiting(farm.device_id(serial)) is not None
    await farm.connect()
    assert farm.writer.asked == []


async def test_a_delivery_is_given_up_with_its_socket(farm):
    (serial,) = farm.phones()
    agent = await farm.agent(serial)
    farm.writer.is_held = lambda command: True
    farm.job()
    await eventually(lambda: farm.writer.asked)
    await agent.socket.close()
    await eventually(lambda: not [task for task in asyncio.all_tasks() if task.get_name() == "agent-delivery"])
    await farm.writer.release()
