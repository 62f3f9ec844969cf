"""One platform with a simulated farm and one browser for all tests here; each test has a person of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser

from tests.browser.chromium import MISSING, chromium, find_chromium
from tests.browser.farm import simulated_farm
from tests.browser.person import Person, admin_of, somebody
from tests.e2e.client import Http
from tests.e2e.up import Platform

VIEWER: Final = "viewer@example.com"
PASSWORD: Final = "correct horse battery"

Somebody = Callable[..., AbstractAsyncContextManager[Person]]


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    if find_chromium() is None:
        pytest.skip(MISSING)
    async with chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def elsewhere(browser: Browser) -> AsyncIterator[str]:
    """The origin of somebody else's page, which Drover lets call."""

    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><title>Elsewhere</title>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    async with TestServer(app) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def platform(
    browser: Browser, elsewhere: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Platform]:
    """After the browser: without one, nothing is started."""
    # Many people sign in from one address, one after the other.
    settings = {"DROVER_SIGN_INS_BURST": "1000", "DROVER_CORS_ORIGINS": elsewhere}
    shared = Platform(tmp_path_factory.mktemp("browser") / "data", environ=settings)
    try:
        await shared.ready()
        async with simulated_farm(shared):
            yield shared
    finally:
        await shared.end()
    assert "Traceback" not in shared.output


@pytest_asyncio.fixture(loop_scope="package")
async def http(platform: Platform) -> AsyncIterator[Http]:
    """The back office."""
    async with platform.calling() as http:
        yield http


@pytest_asyncio.fixture(loop_scope="package")
async def person(browser: Browser, platform: Platform) -> AsyncIterator[Person]:
    """Somebody who is not signed in."""
    async with somebody(browser, platform) as person:
        yield person


@pytest_asyncio.fixture(loop_scope="package")
async def admin(person: Person, platform: Platform) -> Person:
    await person.sign_in(*admin_of(platform))
    return person


@pytest_asyncio.fixture(loop_scope="package")
async def another(browser: Browser, platform: Platform) -> AsyncIterator[Somebody]:
    """People beside the first one."""
    async with AsyncExitStack() as stack:

        async def come(email: str, password: str, **options: object) -> Person:
            person = await stack.enter_async_context(somebody(browser, platform, **options))
            await person.sign_in(email, password)
            return person

        yield come


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def viewer_account(platform: Platform, browser: Browser) -> tuple[str, str]:
    """Of somebody who may look and do nothing."""
    async with somebody(browser, platform) as admin:
        token = (await admin.sign_in(*admin_of(platform)))["access_token"]
        answer = await admin.context.request.post(
            f"{platform.url}/api/accounts",
            data={"email": VIEWER, "password": PASSWORD, "role": "viewer"},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status == 201, await answer.text()
    return VIEWER, PASSWORD
