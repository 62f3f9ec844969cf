"""Realtime over real NATS and PostgreSQL: what clients do when changes were missed, and several processes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest
from realtime import AsyncRealtimeClient

from drover.api.realtime import limits
from drover.api.realtime import presence as presence_module
from drover.api.realtime.metrics import CLOSED
from drover.api.realtime.peers import Peers
from drover.api.realtime.presence import Topic
from drover.api.realtime.sockets import PATH
from drover.bus.connection import connected
from drover.service.api_keys import Role
from drover.testing.waiting import eventually
from drover.web.serve import serve
from tests.e2e.realtime_js import CLIENT, listener_on
from tests.e2e.realtime_many import Told, clients_on, socket
from tests.integration.api.rows_platform import Platform, platform_on
from tests.node_packages import node_with
from tests.unit.api.realtime.client import key_of
from tests.unit.api.realtime.test_sockets import Desk

PATIENCE_S = 40.0
FLOOD = msgspec.Raw(b'"' + b"x" * 100_000 + b'"')
FLOOD_FRAMES = 300
"""More than the buffers of both ends and the bound of the server take together."""
SOCKETS, DEVICES = 1_000, 50


@pytest.fixture
async def platform(own_nats, postgres_dsn) -> AsyncIterator[Platform]:
    async with platform_on(own_nats.url, postgres_dsn) as made:
        yield made


@pytest.fixture(scope="session")
def node() -> str:
    return node_with(CLIENT)


@pytest.mark.req("DI-08")
async def test_supabase_js_joins_again_by_itself_when_changes_were_missed(platform, node):
    async with listener_on(node, platform.url) as listener:
        await listener.subscribe("farm", platform.key(), {"event": "INSERT", "table": "devices"})
        await platform.stop_projector()
        await platform.start_projector()
        error = await listener.until(channel="farm", status="CHANNEL_ERROR", within_s=PATIENCE_S)
        assert error["cause"] == "Changes were missed (epoch): join again, then read again"
        await listener.until(channel="farm", status="SUBSCRIBED", within_s=PATIENCE_S)
        device = await platform.register()
        assert (await listener.until(heard="INSERT", within_s=PATIENCE_S))["new"]["id"] == device


@pytest.mark.req("DI-08")
async def test_supabase_py_joins_again_by_itself_when_changes_were_missed(platform):
    states: list[str] = []
    heard: list[Any] = []
    client = AsyncRealtimeClient(f"{platform.url}/realtime/v1", platform.key())
    channel = client.channel("farm").on_postgres_changes("INSERT", heard.append, table="devices", schema="public")
    try:
        await channel.subscribe(lambda state, error: states.append(f"{state.value} {error or ''}".strip()))
        await platform.stop_projector()
        await platform.start_projector()
        await eventually(lambda: states.count("SUBSCRIBED") == 2, PATIENCE_S)
        assert "Changes were missed (epoch)" in states[1]
        device = await platform.register()
        await eventually(lambda: heard, PATIENCE_S)
        assert heard[0]["data"]["record"]["id"] == device
    finally:
        await client.close()


@pytest.mark.req("DI-08")
async def test_a_message_that_is_lost_is_noticed(platform):
    async def lose() -> None:
        platform.rows.fault = None
        raise ConnectionError("away")

    config = {"presence": {"enabled": False}, "postgres_changes": [{"event": "*", "table": "workers"}]}
    query = {"apikey": platform.key(), "vsn": "2.0.0"}
    async with platform.http.ws_connect(platform.url + PATH, params=query) as ws:
        await ws.send_json(["1", "1", "realtime:farm", "phx_join", {"config": config}])
        platform.rows.fault = lose
        await platform.register()
        async with asyncio.timeout(PATIENCE_S):
            while (told := await ws.receive_json())[3] != "phx_error":
                assert told[3] in ("phx_reply", "system")
        assert "hole" in told[4]["reason"]


@pytest.mark.req("DI-08")
async def test_supabase_js_that_stood_still_is_disconnected_and_comes_back_by_itself(platform, node):
    async with listener_on(node, platform.url) as listener:
        await listener.subscribe("farm", platform.key(), {"event": "INSERT", "table": "devices"})
        before = CLOSED.labels("slow")._value.get()
        listener.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(FLOOD_FRAMES):
                platform.realtime.office.rooms.broadcast(Topic("farm", False), "flood", FLOOD)
                await asyncio.sleep(0)
            await eventually(lambda: not platform.realtime.sessions, PATIENCE_S)
        finally:
            listener.process.send_signal(signal.SIGCONT)
        assert CLOSED.labels("slow")._value.get() == before + 1
        assert platform.realtime.office.subscriptions.total == 0
        await listener.until(channel="farm", status="CHANNEL_ERROR", within_s=PATIENCE_S)
        await listener.until(channel="farm", status="SUBSCRIBED", within_s=PATIENCE_S)
        device = await platform.register()
        assert (await listener.until(heard="INSERT", within_s=PATIENCE_S))["new"]["id"] == device


@pytest.mark.slow
@pytest.mark.req("DI-08")
async def test_a_thousand_supabase_js_clients_hear_what_their_filters_ask_for(platform, node):
    async with clients_on(node, platform.url) as clients:
        wanted = [
            socket(platform.key(), {"table": "devices", "filter": f"serial_number=eq.SERIAL{number % DEVICES + 1:04}"})
            for number in range(SOCKETS)
        ]
        await clients.open("phones", wanted)
        assert len(platform.realtime.sessions) == SOCKETS
        for _ in range(DEVICES):
            await platform.register()

        async def have_heard() -> Told | None:
            told = await clients.tell("phones")
            return told if min(told.rows) > 0 else None

        told = await eventually(have_heard, PATIENCE_S)
        assert told.heard["devices INSERT"] == SOCKETS, "each hears of one device, and of no other"
        assert told.states == {"SUBSCRIBED": SOCKETS}
        await clients.close("phones")
        await eventually(lambda: not platform.realtime.sessions, PATIENCE_S)
        assert platform.realtime.office.subscriptions.total == 0


# Several processes


class Process(Desk):
    """One of several, with a connection to NATS of its own."""

    def __init__(self, nats_url: str) -> None:
        super().__init__()
        self._nats_url = nats_url
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        enter = self._stack.enter_async_context
        client = await enter(connected(self._nats_url, "api"))
        await enter(Peers(client, self.rooms).running())
        await client.flush()
        await enter(self.realtime.running())
        port = await enter(serve(self.app, "127.0.0.1", 0, grace_s=1))
        self.http = await enter(aiohttp.ClientSession())
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def present(self, key: str) -> AsyncIterator[Any]:
        """A client that has joined and says that it is there."""
        async with self.http.ws_connect(self.url + PATH, params={"apikey": key_of(Role.ANON), "vsn": "2.0.0"}) as ws:
            await ws.send_json(["1", "1", "realtime:room", "phx_join", {"config": {"presence": {"key": key}}}])
            await ws.send_json(["1", "2", "realtime:room", "presence", {"event": "track", "payload": {"name": key}}])
            yield ws

    def who(self) -> set[str]:
        return {key for keys in self.rooms.presences._topics.values() for key in keys}


@pytest.fixture
async def processes(nats) -> AsyncIterator[list[Process]]:
    made = [Process(nats.url) for _ in range(3)]
    for one in made[:2]:
        await one.start()
    yield made
    for one in made:
        await one.stop()


@pytest.mark.req("DI-08")
async def test_a_broadcast_reaches_the_clients_of_every_process_once(processes):
    one, two, _ = processes
    async with one.connected() as speaker, two.connected() as listener:
        await one.join(speaker, "room")
        await two.join(listener, "room")
        for number in range(3):
            await speaker.send_json(["1", "9", "realtime:room", "broadcast", {"event": "said", "payload": number}])
        async with asyncio.timeout(PATIENCE_S):
            assert [(await listener.receive_json())[4]["payload"] for _ in range(3)] == [0, 1, 2]


@pytest.mark.req("DI-08")
async def test_who_is_present_is_known_in_every_process_also_in_one_that_starts_later(processes):
    one, two, three = processes
    async with one.present("a"), two.present("b"):
        await eventually(lambda: one.who() == two.who() == {"a", "b"}, PATIENCE_S)
        await three.start()
        await eventually(lambda: three.who() == {"a", "b"}, PATIENCE_S)
    await eventually(lambda: one.who() == two.who() == three.who() == set(), PATIENCE_S)


@pytest.mark.req("DI-08")
async def test_those_present_in_a_process_that_dies_are_gone_soon(processes, monkeypatch):
    monkeypatch.setattr(presence_module, "SILENT_PEER_S", 2 * limits.BEAT_S)
    one, two, _ = processes
    async with one.present("a"), two.present("b"):
        await eventually(lambda: one.who() == {"a", "b"}, PATIENCE_S)
        two.rooms.tell = lambda message: None  # it says nothing more, not even goodbye
        await eventually(lambda: one.who() == {"a"}, PATIENCE_S)
