"""Realtime on a real port: who may connect, slow and loud clients, broadcasts over HTTP, the end."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from drover.api.realtime import connection, limits
from drover.api.realtime.capacity import Allowances, TooManyMessages
from drover.api.realtime.sockets import BROADCAST_PATH, PATH, Realtime
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.application import SOCKETS, add_handlers, create_application
from drover.web.auth import Principal
from drover.web.limits import PERSONAL, Limits
from drover.web.serve import serve
from tests.unit.api.realtime.client import MINE, Farm, key_of

PADDING = "x" * 10_000


class Desk(Farm):
    def __init__(self, *, anon: Any = "agent", **options: Any) -> None:
        super().__init__(anon=anon)
        self.realtime = Realtime(self.office, self.watcher, **options)
        self.app = create_application(Health(), body_bytes_max=1024 * 1024)
        add_handlers(self.app, [self.realtime], self.office.access)
        self.url = ""
        self.http: aiohttp.ClientSession

    @asynccontextmanager
    async def connected(self, role: Role = Role.SERVICE_ROLE, **query: str) -> AsyncIterator[Any]:
        asked = {"apikey": key_of(role), "vsn": "2.0.0"} | query
        async with self.http.ws_connect(self.url + PATH, params=asked) as ws:
            yield ws

    async def join(self, ws: Any, name: str = "farm", *changes: dict[str, Any]) -> Any:
        config = {"presence": {"enabled": False}, "postgres_changes": [{"event": "*", **one} for one in changes]}
        await ws.send_json(["1", "1", f"realtime:{name}", "phx_join", {"config": config}])
        reply = await ws.receive_json()
        if changes:
            await ws.receive_json()
        return reply[4]


@asynccontextmanager
async def desk_on(**options: Any) -> AsyncIterator[Desk]:
    desk = Desk(**options)
    async with (
        desk.realtime.running(),
        serve(desk.app, "127.0.0.1", 0, grace_s=1) as port,
        aiohttp.ClientSession() as desk.http,
    ):
        desk.url = f"http://127.0.0.1:{port}"
        desk.beat()
        yield desk


@pytest.fixture
async def desk():
    async with desk_on() as made:
        yield made


async def refused(desk, **query):
    async with desk.http.get(desk.url + PATH, params=query, headers=UPGRADE) as answer:
        return answer.status


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}


async def test_a_socket_needs_a_key_and_a_version_that_is_known(desk):
    assert await refused(desk) == 401
    assert await refused(desk, apikey="nonsense") == 401
    assert await refused(desk, apikey=key_of(lifetime_s=-1)) == 401
    assert await refused(desk, apikey=key_of(), vsn="3.0.0") == 400


async def test_changes_come_over_a_real_socket(desk):
    async with desk.connected() as ws:
        assert (await desk.join(ws, "farm", {"table": "devices"}))["status"] == "ok"
        desk.tell("devices", {"id": MINE}, new=[[MINE]])
        told = await ws.receive_json()
        assert (told[3], told[4]["data"]["type"]) == ("postgres_changes", "INSERT")


async def test_sockets_have_a_limit_and_those_of_phones_a_smaller_one():
    async with desk_on(sockets_max=2, agent_sockets_max=1) as desk:
        async with desk.connected(Role.ANON) as ws:
            await desk.join(ws)
            assert await refused(desk, apikey=key_of(Role.DEVICE)) == 503
            async with desk.connected() as other:
                await desk.join(other)
                assert await refused(desk, apikey=key_of()) == 503
        await eventually(lambda: not desk.realtime.sessions)


def slow_reader(desk) -> socket.socket:
    """A client that has joined and reads nothing more."""
    found = socket.create_connection(("127.0.0.1", int(desk.url.rpartition(":")[2])))
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lines = [f"GET {PATH}?apikey={key_of()}&vsn=2.0.0 HTTP/1.1", "Host: x", *(f"{k}: {v}" for k, v in UPGRADE.items())]
    found.sendall("\r\n".join([*lines, "", ""]).encode())
    config = {"presence": {"enabled": False}, "postgres_changes": [{"event": "*", "table": "devices"}]}
    frame = msgspec.json.encode(["1", "1", "realtime:farm", "phx_join", {"config": config}])
    found.sendall(bytes((0x81, 0x80 | 126)) + len(frame).to_bytes(2) + bytes(4) + frame)
    return found


@pytest.mark.req("DI-08")
async def test_a_client_that_does_not_read_is_disconnected_and_holds_nobody_up(desk):
    loop = asyncio.get_running_loop()
    slow = await loop.run_in_executor(None, slow_reader, desk)
    try:
        await eventually(lambda: "devices" in desk.office.subscriptions)
        async with desk.connected() as ws:
            await desk.join(ws, "farm", {"table": "devices"})
            sent = 0
            while len(desk.realtime.sessions) == 2:
                desk.tell("devices", {"id": MINE, "serial_number": PADDING})
                assert (await ws.receive_json())[3] == "postgres_changes"
                sent += 1
                assert sent < 2_000, "it is not disconnected"
            desk.tell("devices", {"id": MINE})
            assert (await ws.receive_json())[3] == "postgres_changes"
    finally:
        slow.close()


@pytest.mark.req("DI-08")
async def test_a_client_that_reads_too_slowly_learns_why_it_is_disconnected(desk):
    async with desk.connected() as ws:
        await desk.join(ws, "farm", {"table": "devices"})
        (client,) = desk.realtime.sessions
        for _ in range(5_000):
            if client._connection._ending is not None:
                break
            desk.tell("devices", {"id": MINE, "serial_number": PADDING})
            await asyncio.sleep(0)
        assert await closed(ws) == (1013, "The client reads too slowly; join again, then read again")


async def test_beyond_the_total_of_a_process_those_are_disconnected_who_do_not_read():
    async with desk_on(outbound_bytes_max=10**12, outbound_total_bytes_max=1024 * 1024) as desk:
        loop = asyncio.get_running_loop()
        slow = await loop.run_in_executor(None, slow_reader, desk)
        try:
            await eventually(lambda: "devices" in desk.office.subscriptions)
            async with desk.connected() as ws:
                await desk.join(ws, "farm", {"table": "devices"})
                for _ in range(2_000):
                    desk.tell("devices", {"id": MINE, "serial_number": PADDING})
                    assert (await ws.receive_json())[3] == "postgres_changes"
                    if len(desk.realtime.sessions) == 1:
                        break
                assert len(desk.realtime.sessions) == 1
                await eventually(lambda: desk.realtime._waiting.bytes == 0)
        finally:
            slow.close()


@pytest.mark.control
async def test_control_without_the_bound_a_client_that_does_not_read_takes_any_amount_of_memory():
    async with desk_on(outbound_bytes_max=10**12, outbound_total_bytes_max=10**12) as desk:
        loop = asyncio.get_running_loop()
        slow = await loop.run_in_executor(None, slow_reader, desk)
        try:
            await eventually(lambda: "devices" in desk.office.subscriptions)
            (client,) = desk.realtime.sessions
            for _ in range(2_000):
                desk.tell("devices", {"id": MINE, "serial_number": PADDING})
                await asyncio.sleep(0)
            assert client._connection._unsent_bytes > 10 * limits.OUTBOUND_BYTES_MAX
        finally:
            slow.close()


async def closed(ws) -> tuple[int, str]:
    while (message := await ws.receive()).type != aiohttp.WSMsgType.CLOSE:
        assert message.type is aiohttp.WSMsgType.TEXT, message
    return message.data, message.extra


async def test_a_client_that_sends_too_fast_is_disconnected_with_the_reason(desk):
    async with desk.connected() as ws:
        for _ in range(int(limits.MESSAGES_BURST) + 50):
            await ws.send_json([None, "1", "phoenix", "heartbeat", {}])
        assert await closed(ws) == (1008, "Too many messages per second")


async def test_a_client_that_says_nothing_is_disconnected(desk, monkeypatch):
    monkeypatch.setattr(connection, "SILENT_AFTER_S", 0.1)
    async with desk.connected() as ws:
        assert (await closed(ws))[0] == 1001


async def test_what_is_no_frame_or_too_long_ends_the_socket(desk):
    async with desk.connected() as ws:
        await ws.send_str("{")
        assert await closed(ws) == (1007, "A frame could not be read")
    async with desk.connected() as ws:
        await ws.send_str("x" * (limits.FRAME_BYTES_MAX + 1))
        assert (await closed(ws))[0] == 1009


async def test_a_stop_closes_sockets_with_a_code_that_says_come_back(desk):
    async with desk.connected() as ws:
        await desk.join(ws)
        stop = asyncio.create_task(desk.app[SOCKETS].close_all())
        assert await closed(ws) == (1012, "The server restarts")
        await stop


async def post(desk, path, *, role=Role.ANON, **how):
    async with desk.http.post(desk.url + path, headers={"apikey": key_of(role)}, **how) as answer:
        return answer.status


@pytest.mark.req("DI-08")
async def test_a_broadcast_over_http_reaches_those_who_have_joined(desk):
    async with desk.connected() as ws:
        await desk.join(ws, "farm")
        message = {"topic": "farm", "event": "moved", "payload": {"x": 1}}
        assert await post(desk, BROADCAST_PATH, json={"messages": [message]}) == 202
        told = [None, None, "realtime:farm", "broadcast", {"type": "broadcast", "event": "moved", "payload": {"x": 1}}]
        assert await ws.receive_json() == told
        assert await post(desk, f"{BROADCAST_PATH}/farm/events/moved", json={"x": 1}) == 202
        assert await ws.receive_json() == told
        sent = {"data": b"\xff", "headers": {"apikey": key_of(), "Content-Type": "application/octet-stream"}}
        async with desk.http.post(f"{desk.url}{BROADCAST_PATH}/farm/events/moved", **sent) as answer:
            assert answer.status == 202
        assert (await ws.receive_bytes())[-1:] == b"\xff"


@pytest.mark.req("SE-02")
async def test_the_anon_key_broadcasts_nothing_where_it_may_do_nothing():
    message = {"topic": "farm", "event": "moved", "payload": {}}
    async with desk_on(anon="off") as desk:
        for path, body in (
            (BROADCAST_PATH, {"messages": [message]}),
            (f"{BROADCAST_PATH}/farm/events/moved", {}),
        ):
            assert await post(desk, path, json=body) == 403
            assert await post(desk, path, json=body, role=Role.DEVICE) == 202


async def test_of_several_broadcasts_in_one_request_all_are_sent_or_none(desk):
    async with desk.connected() as ws:
        await desk.join(ws, "farm")
        public = {"topic": "farm", "event": "moved", "payload": 1}
        private = public | {"private": True}
        assert await post(desk, BROADCAST_PATH, json={"messages": [public, private]}) == 403
        assert await post(desk, BROADCAST_PATH, json={"messages": [public | {"payload": 2}]}) == 202
        assert (await ws.receive_json())[4]["payload"] == 2


async def test_a_broadcast_over_http_is_refused_where_it_may_not_be(desk):
    private = {"topic": "farm", "event": "moved", "payload": {}, "private": True}
    assert await post(desk, BROADCAST_PATH, json={"messages": [private]}) == 403
    assert await post(desk, f"{BROADCAST_PATH}/farm/events/moved?private=true", json={}) == 403
    assert await post(desk, BROADCAST_PATH, json={"messages": [private]}, role=Role.SERVICE_ROLE) == 202
    assert await post(desk, BROADCAST_PATH, json={"messages": [{"topic": "farm"}]}) == 400
    json = {"apikey": key_of(), "Content-Type": "application/json"}
    async with desk.http.post(f"{desk.url}{BROADCAST_PATH}/farm/events/moved", data=b"{", headers=json) as answer:
        assert answer.status == 400
    large = {"topic": "farm", "event": "moved", "payload": "x" * limits.FRAME_BYTES_MAX}
    assert await post(desk, BROADCAST_PATH, json={"messages": [large]}) == 413
    many = {"messages": [{"topic": "farm", "event": "moved"}] * limits.HTTP_MESSAGES_MAX}
    assert [await post(desk, BROADCAST_PATH, json=many) for _ in range(4)][-1] == 429


@pytest.mark.parametrize(("topic", "event"), [("팜" * 100, "moved"), ("farm", "옮김" * 100)], ids=["topic", "event"])
async def test_a_name_that_is_too_long_in_bytes_is_refused_over_http_too(desk, topic, event):
    path = f"{desk.url}{BROADCAST_PATH}/{topic}/events/{event}"
    sent = {"data": b"\xff", "headers": {"apikey": key_of(), "Content-Type": "application/octet-stream"}}
    async with desk.http.post(path, **sent) as answer:
        assert answer.status == 400
    message = {"topic": topic, "event": event, "payload": {}}
    assert await post(desk, BROADCAST_PATH, json={"messages": [message]}) == 400


async def test_a_broadcast_over_http_to_many_counts_for_more(desk):
    for _ in range(limits.FRAMES_PER_MESSAGE * 10):
        desk.client().join("farm")
    half = {"messages": [{"topic": "farm", "event": "moved"}] * int(limits.MESSAGES_BURST / 20)}
    assert [await post(desk, BROADCAST_PATH, json=half) for _ in range(2)] == [202, 429]
    assert await post(desk, BROADCAST_PATH, json=half, role=Role.SERVICE_ROLE) == 202, "another caller"


@pytest.mark.req("SE-05")
async def test_a_phone_that_opens_many_sockets_is_told_to_come_back_later(desk):
    async with AsyncExitStack() as stack:
        for _ in range(PERSONAL[Role.DEVICE]):
            await stack.enter_async_context(desk.connected(Role.DEVICE))
        await eventually(lambda: len(desk.realtime.sessions) == PERSONAL[Role.DEVICE])
        assert await refused(desk, apikey=key_of(Role.DEVICE)) == 429
        async with desk.connected(Role.ANON) as other:
            assert (await desk.join(other))["status"] == "ok"
    await eventually(lambda: not desk.realtime.sessions)
    assert desk.office.access.limits.check_room(desk.office.auth.authenticate({"apikey": key_of(Role.DEVICE)})) is None


@pytest.mark.req("SE-05")
async def test_the_sockets_of_one_phone_share_what_it_may_send(desk):
    async with desk.connected(Role.DEVICE) as one, desk.connected(Role.DEVICE) as two:
        for number in range(int(limits.MESSAGES_BURST)):
            for ws in (one, two):
                await ws.send_json([None, str(number), "phoenix", "heartbeat", {}])
        await eventually(lambda: len(desk.realtime.sessions) < 2)
        closed = [[message async for message in ws] and ws.close_code for ws in (one, two)]
    assert 1008 in closed


@pytest.mark.req("SE-05")
async def test_who_connects_again_has_no_new_messages_to_send():
    phone = Principal(Role.DEVICE, f"device:{MINE}", math.inf, MINE)
    allowances = Allowances(clock=lambda: 0.0)
    allowances.of(phone).use(limits.MESSAGES_BURST)
    with pytest.raises(TooManyMessages):  # its first socket is closed and forgotten
        allowances.of(phone).use(1)


@pytest.mark.req("SE-05")
async def test_clients_with_one_shared_key_do_not_use_up_the_messages_of_each_other(desk):
    async with desk.connected(Role.ANON) as greedy, desk.connected(Role.ANON) as calm:
        for number in range(3 * int(limits.MESSAGES_BURST)):
            await greedy.send_json([None, str(number), "phoenix", "heartbeat", {}])
        assert [message async for message in greedy]
        assert greedy.close_code == 1008
        assert (await desk.join(calm))["status"] == "ok"


@pytest.mark.req("SE-05")
async def test_connections_of_one_caller_are_limited(desk):
    object.__setattr__(desk.office.access, "limits", Limits(0.001, 1))
    async with desk.connected(Role.DEVICE):
        assert await refused(desk, apikey=key_of(Role.DEVICE)) == 429
        async with desk.connected() as other:
            assert (await desk.join(other))["status"] == "ok"


@pytest.mark.req("SE-05")
async def test_connections_with_wrong_keys_are_limited_by_address():
    async with desk_on() as desk:
        object.__setattr__(desk.office.access, "limits", Limits(0.001, 5))
        assert [await refused(desk, apikey="nonsense") for _ in range(3)] == [401, 401, 429]
