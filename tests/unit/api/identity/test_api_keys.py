"""`/api/keys`: admins issue, rotate and revoke keys; nobody else does, and a key is shown once."""

from __future__ import annotations

import jwt
import pytest

from drover.domain.identity import events as e
from drover.service.identity_keys import IdentityKeys
from tests.unit.api.identity.conftest import bearer

pytestmark = pytest.mark.req("SE-01")

DEVICE = "018f2b5e-0000-7000-8000-00000000000a"
OFFICE = {"name": "back office", "role": "service_role"}


@pytest.fixture
async def admin(world):
    return bearer(await world.signed_in())


async def issued(world, admin, **body):
    async with world.client.post("/api/keys", json=OFFICE | body, headers=admin) as answer:
        assert answer.status == 201, await answer.text()
        assert answer.headers["Cache-Control"] == "no-store"
        return await answer.json()


def claims(key: str):
    pair = IdentityKeys(["i" * 32]).api[0]
    return jwt.decode(key, pair.public, algorithms=["ES256"], options={"verify_exp": False, "verify_iat": False})


async def test_a_key_says_what_was_recorded(world, admin):
    key = await issued(world, admin, name="phone", role="device", device_id=DEVICE, days=1)
    said = claims(key["key"])
    assert (said["role"], said["device_id"], said["jti"]) == ("device", DEVICE, key["id"])
    assert said["exp"] - said["iat"] == 86_400
    recorded = world.bus.events[-1]
    assert isinstance(recorded, e.ApiKeyCreated)
    assert (recorded.key_id, recorded.expires_at.timestamp()) == (key["id"], said["exp"])
    assert key["key"] not in repr(world.bus.events)


async def test_who_issued_a_key_is_recorded(world, admin):
    await issued(world, admin)
    assert world.bus.sent[-1][1].startswith("user:")


async def test_a_rotated_key_has_a_successor_with_the_same_rights(world, admin):
    first = await issued(world, admin)
    async with world.client.post(f"/api/keys/{first['id']}/rotate", json={"grace_hours": 0}, headers=admin) as answer:
        second = await answer.json()
        assert answer.status == 201
    assert (second["name"], second["role"]) == (first["name"], first["role"])
    assert claims(second["key"])["jti"] == second["id"] != first["id"]
    assert [type(event) for event in world.bus.events[-2:]] == [e.ApiKeyCreated, e.ApiKeyRevoked]


async def test_a_key_is_revoked_and_an_unknown_one_is_404(world, admin):
    key = await issued(world, admin)
    for _ in range(2):
        assert (await world.client.delete(f"/api/keys/{key['id']}", headers=admin)).status == 204
    assert world.bus.events[-1].key_id == key["id"]
    assert (await world.client.delete(f"/api/keys/{DEVICE}", headers=admin)).status == 404


@pytest.mark.parametrize(
    "body",
    [
        {"role": "admin"},
        {"role": "device"},
        {"device_id": DEVICE},
        {"name": ""},
        {"days": 0},
        {"days": 4000},
        {"more": 1},
    ],
)
async def test_a_bad_request_is_400_and_records_nothing(world, admin, body):
    before = len(world.bus.events)
    async with world.client.post("/api/keys", json=OFFICE | body, headers=admin) as answer:
        assert answer.status == 400, await answer.text()
    assert len(world.bus.events) == before


async def test_only_admins_may(world, admin):
    new = {"email": "lee@example.com", "password": "a password of his own", "role": "operator"}
    await world.client.post("/api/accounts", json=new, headers=admin)
    operator = bearer(await world.signed_in(new["email"], new["password"]))
    for method, path in (
        ("GET", "/api/keys"),
        ("POST", "/api/keys"),
        ("POST", f"/api/keys/{DEVICE}/rotate"),
        ("DELETE", f"/api/keys/{DEVICE}"),
    ):
        for headers, status in ((operator, 403), ({}, 401)):
            async with world.client.request(method, path, json=OFFICE, headers=headers) as answer:
                assert answer.status == status, (method, path)


async def test_without_postgres_keys_are_still_issued_and_revoked(world, admin):
    assert (await world.client.get("/api/keys", headers=admin)).status == 503
    key = await issued(world, admin)
    assert (await world.client.delete(f"/api/keys/{key['id']}", headers=admin)).status == 204
