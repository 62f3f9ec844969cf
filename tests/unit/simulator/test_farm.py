"""Many phones in one process, over real HTTP, on a fast clock."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from drover.embedded.credentials import Credentials
from drover.simulator.app import CredentialsMissing, read_credentials
from drover.simulator.clock import Clock
from drover.simulator.farm import Farm
from drover.simulator.http import connect
from drover.simulator.population import populate
from drover.simulator.registration import Registrar, wait_until_ready
from drover.simulator.script import CALM, Fault, Script
from drover.testing.waiting import eventually

from .conftest import ANON_KEY, SERVICE_KEY, Platform

SENDERS = 16


async def live(phones, client, *, speed, until, senders=SENDERS) -> None:
    farm = Farm(phones, client, Clock(speed), senders=senders)
    async with farm.running(until=until), asyncio.timeout(60):
        await farm.wait_ended()


@asynccontextmanager
async def nobody_home(port: int) -> AsyncIterator[list[bool]]:
    """Every connection is cut at once; the value counts them."""
    knocks: list[bool] = []

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        knocks.append(True)
        writer.transport.abort()

    async with await asyncio.start_server(cut, "127.0.0.1", port):
        yield knocks


def identities(phones):
    return [phone.identity for phone in phones]


async def test_two_thousand_phones_beat_on_time_with_few_connections(platform, client):
    phones = populate(100, 20, 1, CALM)
    platform.delay = lambda: asyncio.sleep(0.002)
    await Registrar(client, Clock()).register(identities(phones))
    await live(phones, client, speed=3, until=20)
    assert len(platform.beats) == 2000
    assert set(platform.beats.values()) == {2}
    assert platform.statuses == {"online"}
    assert 1 < platform.at_once_max <= SENDERS


async def test_registration_goes_in_hundreds_and_can_be_repeated(platform, client):
    phones = identities(populate(13, 20, 1, CALM))
    registrar = Registrar(client, Clock())
    await registrar.register(phones[:150])
    assert platform.posts == [("/rest/v1/pcs", 8), ("/rest/v1/devices", 100), ("/rest/v1/devices", 50)]
    await registrar.register(phones)
    assert platform.posts[3:] == [("/rest/v1/pcs", 5), *[("/rest/v1/devices", n) for n in (100, 100, 60)]]
    await registrar.register(phones)
    assert platform.devices.keys() == {phone.serial_number for phone in phones}
    assert platform.pcs == {f"PC-{pc:02d}" for pc in range(1, 14)}


async def test_registration_goes_on_until_the_platform_takes_it(platform, client):
    refusals = iter([web.Response(status=503), web.Response(status=429, headers={"Retry-After": "3"})])
    platform.refuse = lambda request: next(refusals, None)
    await Registrar(client, Clock(speed=1000)).register(identities(populate(1, 2, 1, CALM)))
    assert len(platform.devices) == 2


async def test_phones_that_the_platform_forgot_are_registered_again(platform, client):
    phones = populate(2, 5, 1, CALM)
    farm = Farm(phones, client, Clock(speed=200))
    async with farm.running():
        await eventually(lambda: len(platform.beats) == 10)
        platform.devices.clear()
        platform.beats.clear()
        await eventually(lambda: len(platform.beats) == 10)


async def test_the_farm_survives_a_restart_of_the_platform():
    platform = Platform()
    phones = populate(1, 10, 1, CALM)
    async with platform.serving() as port, connect(platform.url, ANON_KEY, SERVICE_KEY) as client:
        await Registrar(client, Clock()).register(identities(phones))
    async with connect(platform.url, ANON_KEY, SERVICE_KEY) as client:
        farm = Farm(phones, client, Clock(speed=200))
        async with farm.running():
            async with platform.serving(port):
                await eventually(lambda: len(platform.beats) == 10)
            platform.beats.clear()
            async with nobody_home(port) as knocks:
                await eventually(lambda: len(knocks) >= 10)
            async with platform.serving(port):
                await eventually(lambda: len(platform.beats) == 10)


async def test_a_phone_in_trouble_is_missing_and_the_others_go_on(platform, client):
    dark = Fault("no power", every_s=1e-9, lasts_s=(1e9, 1e9), stops_agent=True)
    phones = populate(1, 5, 1, CALM) + populate(1, 5, 2, Script(phone_faults=(dark,)))
    await Registrar(client, Clock()).register(identities(phones))
    await live(phones, client, speed=100, until=30)
    assert dict(platform.beats) == {phone.identity.serial_number: 3 for phone in phones[:5]}


async def test_one_stalled_request_does_not_hold_the_others_up(platform, client):
    phones = populate(1, 3, 1, CALM)
    await Registrar(client, Clock()).register(identities(phones))
    stalled, go_on = iter([True]), asyncio.Event()
    platform.delay = lambda: go_on.wait() if next(stalled, False) else asyncio.sleep(0)
    farm = Farm(phones, client, Clock(speed=100))
    async with farm.running():
        await eventually(lambda: sum(platform.beats.values()) >= 10)
        assert len(platform.beats) == 2
        go_on.set()


async def test_leaving_waits_for_the_requests_under_way(platform, client):
    phones = populate(1, 1, 1, CALM)
    await Registrar(client, Clock()).register(identities(phones))
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        arrived.set()
        await go_on.wait()

    platform.delay = hold
    async with Farm(phones, client, Clock(speed=100)).running():
        await arrived.wait()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    assert platform.beats.total() == 1


async def test_the_farm_waits_until_the_platform_is_ready(platform, client):
    platform.ready_after = 8
    await wait_until_ready(client, Clock(speed=1000))
    assert platform.ready_after < 0


async def test_missing_or_broken_credentials_are_named_with_what_to_do(tmp_path):
    with pytest.raises(CredentialsMissing, match=r"did not appear.*Start `drover up`"):
        await read_credentials(tmp_path / "credentials.json", within_s=0)
    (tmp_path / "credentials.json").write_text("{")
    with pytest.raises(CredentialsMissing, match="cannot be read"):
        await read_credentials(tmp_path / "credentials.json")


async def test_the_process_runs_until_sigterm_and_exits_with_0(platform, tmp_path):
    credentials = Credentials(platform.url, ANON_KEY, SERVICE_KEY, "", "", "", "", "")
    (tmp_path / "credentials.json").write_bytes(msgspec.json.encode(credentials))
    arguments = ["--data-dir", str(tmp_path), "--pcs", "2", "--phones", "3", "--speed", "50"]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "drover.simulator", *arguments)
    try:
        await eventually(lambda: len(platform.beats) == 6, within_s=30)
    finally:
        process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 10) == 0
