"""The real supabase-py hears what changes, over `drover up`, with the client's defaults."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
from realtime import RealtimeSubscribeStates
from supabase import AsyncClient, acreate_client

from drover.embedded.credentials import load_or_create_secrets
from drover.service.api_keys import Role, sign_api_key
from drover.service.identity_keys import IdentityKeys
from drover.testing.waiting import eventually
from tests.e2e.realtime_filters import FILTERS, JOBS, write_job
from tests.e2e.up import Platform

WITHIN_S = 40.0
FIRST_TOKEN_S = 8
LOOKED_S = 2.0
"""By then the server has looked for tokens that have expired."""


class Ear:
    """What one channel hears, as (what, data)."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    def change(self, payload: Any) -> None:
        self.heard.put_nowait((payload["data"]["type"], payload["data"]))

    def state(self, state: RealtimeSubscribeStates, error: Exception | None) -> None:
        self.heard.put_nowait((state.value, str(error)))

    def said(self, payload: Any) -> None:
        self.heard.put_nowait(("broadcast", payload))

    async def until(self, what: str) -> Any:
        async with asyncio.timeout(WITHIN_S):
            while True:
                name, data = await self.heard.get()
                if name == what:
                    return data


@asynccontextmanager
async def client_of(platform, key: str) -> AsyncIterator[AsyncClient]:
    client = await acreate_client(platform.url, platform.credentials[key])
    try:
        yield client
    finally:
        await client.realtime.close()


@pytest.mark.req("DI-08")
async def test_supabase_py_hears_devices_that_are_registered_and_that_change(platform, http):
    serial, ear = "REALTIMEPY", Ear()
    async with client_of(platform, "service_key") as client:
        channel = client.channel("farm").on_postgres_changes(
            "*", ear.change, table="devices", schema="public", filter=f"serial_number=eq.{serial}"
        )
        await channel.subscribe(ear.state)
        await ear.until("SUBSCRIBED")
        assert (await http.register(serial)).status == 201
        made = await ear.until("INSERT")
        assert made["record"]["serial_number"] == serial
        assert (await http.beat(serial)).status == 204
        changed = await ear.until("UPDATE")
        assert changed["old_record"] == {"id": made["record"]["id"]}
        await channel.unsubscribe()
        await ear.until("CLOSED")


@pytest.mark.req("DI-08")
async def test_every_operator_holds_for_the_rows_that_it_should(platform, http):
    heard: dict[str, list[str]] = {text: [] for text in ("", *FILTERS)}

    def ear_of(text: str):
        return lambda payload: heard[text].append(payload["data"]["record"]["title"])

    async with client_of(platform, "service_key") as client:
        channel = client.channel("jobs").on_postgres_changes("INSERT", ear_of(""), table="jobs", schema="public")
        for text in FILTERS:
            channel.on_postgres_changes("INSERT", ear_of(text), table="jobs", schema="public", filter=text)
        ear = Ear()
        await channel.subscribe(ear.state)
        await ear.until("SUBSCRIBED")
        titles = {await write_job(http, name, "py") for name in JOBS}
        await eventually(lambda: titles <= {*heard[""]}, WITHIN_S)
    found = {text: "".join(sorted(title[0] for title in heard[text] if title in titles)) for text in FILTERS}
    assert found == FILTERS


@pytest.mark.req("DI-08")
async def test_supabase_py_refreshes_its_token_and_goes_on_hearing(platform, http):
    keys, ear = IdentityKeys([load_or_create_secrets(platform.data_dir).identity_secret]), Ear()

    def token(lifetime_s):
        now_s = time.time()
        return sign_api_key(keys, Role.SERVICE_ROLE, key_id=str(uuid4()), now_s=now_s, expires_s=now_s + lifetime_s)

    async with client_of(platform, "anon_key") as client:
        first, over_at = token(FIRST_TOKEN_S), time.time() + FIRST_TOKEN_S
        await client.realtime.set_auth(first)
        channel = client.channel("mine").on_postgres_changes("INSERT", ear.change, table="render_queue")
        await channel.subscribe(ear.state)
        await ear.until("SUBSCRIBED")
        await client.realtime.set_auth(token(600))
        await eventually(lambda: time.time() > over_at + LOOKED_S, WITHIN_S)
        render = {"composition_id": "py", "composition_name": "py", "gfx_data": {}}
        assert (await http.call("POST", "/rest/v1/render_queue", json=render)).status == 201
        assert (await ear.until("INSERT"))["table"] == "render_queue"
        await client.realtime.set_auth(platform.credentials["anon_key"])
        await ear.until("CLOSED")


@pytest.mark.req("DI-08")
async def test_supabase_py_broadcasts_and_sees_who_is_present(platform, http):
    one_ear, two_ear = Ear(), Ear()
    async with client_of(platform, "anon_key") as first, client_of(platform, "anon_key") as second:
        one = first.channel("py-room", {"config": {"broadcast": {"self": False, "ack": True}, "presence": None}})
        two = second.channel("py-room").on_broadcast("moved", two_ear.said)
        two.on_presence_join(lambda key, _, new: two_ear.heard.put_nowait(("join", new)))
        two.on_presence_leave(lambda key, _, left: two_ear.heard.put_nowait(("leave", left)))
        await one.subscribe(one_ear.state)
        await two.subscribe(two_ear.state)
        await one.send_broadcast("moved", {"x": 1})
        assert (await two_ear.until("broadcast"))["payload"] == {"x": 1}
        await one.http_send("moved", {"x": 2})
        assert (await two_ear.until("broadcast"))["payload"] == {"x": 2}
        await one.track({"at": "desk"})
        (meta,) = await two_ear.until("join")
        assert meta["at"] == "desk"
        await one.untrack()
        (meta,) = await two_ear.until("leave")
        assert meta["at"] == "desk"


@pytest.mark.req("DI-08")
@pytest.mark.slow
async def test_supabase_py_comes_back_by_itself_when_the_server_restarts(start):
    first, ear = await start(), Ear()
    async with client_of(first, "service_key") as client:
        client.realtime.max_retries = 20  # it gives up after 15 s, and a restart on a busy machine takes longer
        channel = client.channel("farm").on_postgres_changes("INSERT", ear.change, table="devices", schema="public")
        await channel.subscribe(ear.state)
        await ear.until("SUBSCRIBED")
        first.send(signal.SIGTERM)
        assert "1012" in await ear.until("CHANNEL_ERROR")
        assert await first.ended() == 0
        second = Platform(first.data_dir, port=first.port)
        try:
            await second.ready()
            await ear.until("SUBSCRIBED")
            async with second.calling() as http:
                assert (await http.register("REALTIMEPYBACK")).status == 201
            assert (await ear.until("INSERT"))["record"]["serial_number"] == "REALTIMEPYBACK"
        finally:
            await second.end()


@pytest.mark.req("DI-08")
async def test_supabase_py_learns_why_it_may_not_listen(platform, http):
    ear = Ear()
    async with client_of(platform, "anon_key") as client:
        channel = client.channel("secret").on_postgres_changes("*", ear.change, table="render_queue")
        await channel.subscribe(ear.state)
        assert "permission denied for table render_queue" in await ear.until("CHANNEL_ERROR")
        await channel.unsubscribe()
