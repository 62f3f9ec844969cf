"""A request that cannot be judged yet is judged once more when it can be, and no more often than that."""

from __future__ import annotations

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from drover.service.config import ConfigurationError
from drover.service.health import Health
from drover.web.application import add_route, create_application
from drover.web.errors import NotYet
from drover.web.jwks import KeySet
from drover.web.people import Foreign


class Guarded:
    """A handler whose judgement takes so many tries."""

    def __init__(self, tries: int) -> None:
        self.tries = tries
        self.asked = 0
        self.fetched = 0

    async def fetch(self) -> None:
        self.fetched += 1

    async def __call__(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.asked <= self.tries:
            raise NotYet(self.fetch, "Keys are being fetched")
        return web.Response(text="let in")


@pytest.mark.parametrize(("tries", "status", "fetched"), [(0, 200, 0), (1, 200, 1), (2, 503, 1)])
async def test_it_is_asked_once_more(tries, status, fetched):
    app = create_application(Health(), body_bytes_max=1024)
    add_route(app, "GET", "/api/guarded", guarded := Guarded(tries))
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/api/guarded")
        assert (answer.status, guarded.fetched, guarded.asked) == (status, fetched, min(tries + 1, 2))
        if status == 503:
            assert (await answer.json())["error"] == "UNAVAILABLE"
            assert "Retry-After" in answer.headers


@pytest.mark.parametrize("name", ["drover", "drover-identity"])
def test_no_other_issuer_can_have_our_name(name):
    with pytest.raises(ConfigurationError, match="DROVER_JWT_ISSUER"):
        Foreign(KeySet(lambda: None), issuer=name, audience="a", role_claim="role")
