"""`POST /api/erasures`: who may erase, and what is refused."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.erasures import Erasures
from drover.projection.positions import POSITION_HEADER
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Principal
from drover.web.callers import Callers
from drover.web.erasing import ErasedRender, ErasedUser, Erasure
from drover.web.errors import ApiError
from tests.settings import load

pytestmark = pytest.mark.req("SE-09")
SETTINGS = {
    "DROVER_NATS_URL": "nats://x",
    "DROVER_POSTGRES_URL": "postgresql://x",
    "DROVER_JWT_SECRETS": "s" * 32,
}


class AnybodyIs:
    def authenticate(self, headers):
        return Principal(Role(headers["apikey"]), headers["apikey"], float("inf"))


class Eraser:
    def __init__(self):
        self.erased = []
        self.positions = {}

    async def erase_user(self, user_id, origin):
        self.erased.append((user_id, origin.by))
        if user_id == "last-admin":
            raise ApiError(409, "CONFLICT", "This is the last admin: make somebody else one first")
        contexts = ["identity", "reminder"]
        done = ErasedUser(user_id=user_id, contexts=contexts, had_account=True, alarms=2, is_complete=True)
        return Erasure(done, self.positions)

    async def erase_render(self, render_id, origin):
        self.erased.append((render_id, origin.by))
        return Erasure(ErasedRender(render_id), self.positions)


class Recorder:
    def __init__(self):
        self.recorded = []

    async def record(self, access):
        self.recorded.append((access.by, access.kind, access.what))


@pytest.mark.req("SE-11")
async def test_who_erases_is_on_record():
    recorder = Recorder()
    audit = Audit(recorder, Callers())
    app = create_application(Health(), body_bytes_max=1024, audit=audit)
    add_handlers(app, [Erasures(Eraser())], Access.of(load(SETTINGS), AnybodyIs(), audit=audit))
    async with audit.running(), TestClient(TestServer(app)) as client:
        for path in ("/api/erasures/users/kim", "/api/erasures/renders/7"):
            assert (await client.post(path, headers={"apikey": "admin"})).status == 200
    assert recorder.recorded == [
        ("admin", "change", "POST /api/erasures/users/kim"),
        ("admin", "change", "POST /api/erasures/renders/7"),
    ]


@pytest.fixture
async def office():
    eraser = Eraser()
    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [Erasures(eraser)], Access.of(load(SETTINGS), AnybodyIs()))
    async with TestClient(TestServer(app)) as client:

        async def post(what, role="admin"):
            answer = await client.post(f"/api/erasures/{what}", headers={"apikey": role})
            return answer.status, await answer.json()

        yield post, eraser.erased


async def test_an_admin_erases_a_person_or_a_render(office):
    post, erased = office
    status, said = await post("users/kim")
    assert (status, said["alarms"], said["is_complete"]) == (200, 2, True)
    assert (said["contexts"], said["had_account"]) == (["identity", "reminder"], True)
    assert await post("renders/7") == (200, {"render_id": 7})
    assert erased == [("kim", "admin"), (7, "admin")]


async def test_the_answer_has_the_position_of_the_erasure():
    eraser = Eraser()
    eraser.positions = {POSITION_HEADER: "identity=7,reminder=8"}
    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [Erasures(eraser)], Access.of(load(SETTINGS), AnybodyIs()))
    async with TestClient(TestServer(app)) as client:
        for path in ("users/kim", "renders/7"):
            answer = await client.post(f"/api/erasures/{path}", headers={"apikey": "admin"})
            assert answer.headers[POSITION_HEADER] == "identity=7,reminder=8"


async def test_the_last_admin_is_a_conflict_that_says_what_to_do(office):
    post, _ = office
    status, said = await post("users/last-admin")
    assert (status, said["message"]) == (409, "This is the last admin: make somebody else one first")


@pytest.mark.parametrize("role", ["operator", "viewer", "service_role", "anon", "authenticated"])
async def test_nobody_else_does(office, role):
    post, erased = office
    assert ((await post("users/kim", role))[0], erased) == (403, [])


@pytest.mark.parametrize("id_", ["x", "-1", "1.5", "９", "9" * 40, "99999999999999999"])
async def test_a_render_that_is_no_number_is_refused(office, id_):
    post, erased = office
    assert ((await post(f"renders/{id_}"))[0], erased) == (400, [])
