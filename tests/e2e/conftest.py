"""Platforms for the tests: one that all share who break nothing, and own ones for those who do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.apart import Farm
from tests.e2e.client import Http
from tests.e2e.up import Platform

BEAT_EVERY_S: Final = 2.0
BEATING: Final = "BEATING001"
SILENT: Final = "SILENT0001"

Start = Callable[..., Awaitable[Platform]]


@pytest.fixture(scope="session")
def platform(background_loop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """The first `drover up` on an empty directory. Only for tests after which it is as good as before."""
    # Many tests sign in as the same admin, one after the other.
    many = {"DROVER_SIGN_INS_BURST": "1000"}
    shared = Platform(tmp_path_factory.mktemp("e2e") / "shared", environ=many, from_scratch=True)
    try:
        background_loop.run(shared.ready())
        yield shared
    finally:
        background_loop.run(shared.end())
    assert "Traceback" not in shared.output


@pytest.fixture(scope="session")
def two_phones(platform: Platform, background_loop) -> Iterator[asyncio.Task[None]]:
    """Two phones that come online before the first test on the shared platform. One says nothing more after that.

    So early, because it takes half a minute until a phone is taken for silent: other tests run meanwhile.
    """

    async def begin() -> asyncio.Task[None]:
        async with platform.calling() as http:
            assert (await http.register(BEATING, SILENT)).status == 201
            assert (await http.beat(SILENT)).status == 204
            await http.catch_up()
        return asyncio.create_task(_beat(platform))

    async def stop() -> None:
        living.cancel()

    living = background_loop.run(begin())
    yield living
    background_loop.run(stop())


async def _beat(platform: Platform) -> None:
    async with platform.calling() as http:
        while True:
            assert (await http.beat(BEATING)).status == 204
            await asyncio.sleep(BEAT_EVERY_S)


@pytest.fixture
async def http(platform: Platform, two_phones) -> AsyncIterator[Http]:
    """A caller of the shared platform."""
    async with platform.calling() as http:
        yield http


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts platforms of the test's own, one after the other, all on the same directory."""
    started: list[Platform] = []

    async def start_one(*options: str, from_scratch: bool = False, **environ: str) -> Platform:
        started.append(one := Platform(tmp_path / "data", *options, environ=environ, from_scratch=from_scratch))
        await one.ready()
        return one

    yield start_one
    for one in started:
        await one.end()
        assert "Traceback" not in one.output


@pytest.fixture
async def farm(own_nats, own_postgres, tmp_path):
    farm = Farm(own_nats, own_postgres, tmp_path)
    await farm.migrate()
    yield farm
    for process in farm.running:
        await process.end()
