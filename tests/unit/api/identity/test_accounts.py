"""Accounts over HTTP: for admins only, nothing personal in what is recorded, and no way to lock everybody out."""

from __future__ import annotations

import msgspec
import pytest

from drover.domain.identity.policy import AccountRole
from tests.subject_keys import sealed_bytes_in
from tests.unit.api.identity.conftest import EMAIL, PASSWORD, bearer

NEW = {"email": "Lee.Minsu@Example.com", "password": "a password of his own", "role": "operator"}


@pytest.fixture
async def admin(world):
    return bearer(await world.signed_in())


async def test_an_admin_makes_an_account_and_its_owner_signs_in(world, admin):
    answer = await world.client.post("/api/accounts", json=NEW, headers=admin)
    made = await answer.json()
    assert answer.status == 201
    assert (made["email"], made["role"], made["disabled"]) == ("lee.minsu@example.com", "operator", False)
    assert answer.headers["Drover-Position"].startswith("identity=")
    signed_in = await world.signed_in(NEW["email"], NEW["password"])
    assert signed_in["user"]["id"] == made["id"]
    shown = await (await world.client.get(f"/api/accounts/{made['id']}", headers=admin)).json()
    assert shown["last_sign_in_at"]


@pytest.mark.req("SY-15")
async def test_nothing_personal_and_no_secret_is_in_the_events(world, admin):
    answer = await world.client.post("/api/accounts", json=NEW, headers=admin)
    lee = (await answer.json())["id"]
    await world.client.patch(f"/api/accounts/{lee}", json={"password": "quite another password"}, headers=admin)
    await world.signed_in(NEW["email"], "quite another password")
    await world.refresh()
    events = msgspec.json.encode(world.bus.events)
    sealed = [content.lower() for content in sealed_bytes_in(events)]
    assert sealed
    recorded = events.decode().lower()
    for personal in (  # each with a letter that base64 has not: sealed bytes may spell anything else
        "lee.minsu",
        "kim.younghee",
        "@example",
        NEW["password"],
        "quite another",
        PASSWORD,
        "$argon2",
        "drt1.",
        world.cookie().lower(),
    ):
        assert personal not in recorded, personal
        assert not any(personal.encode() in content for content in sealed), personal


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (NEW | {"email": EMAIL}, 409),
        (NEW | {"email": EMAIL.upper()}, 409),
        (NEW | {"email": "no address"}, 400),
        (NEW | {"email": "a@" + "b" * 300}, 400),
        (NEW | {"password": "short"}, 400),
        (NEW | {"password": "x" * 1025}, 400),
        (NEW | {"role": "root"}, 400),
        (NEW | {"id": "x"}, 400),
        ({}, 400),
    ],
)
async def test_what_cannot_be_an_account_is_refused_without_repeating_it(world, admin, body, status):
    answer = await world.client.post("/api/accounts", json=body, headers=admin)
    assert answer.status == status
    said = await answer.text()
    assert "short" not in said
    assert "no address" not in said


async def test_an_admin_changes_one_thing_at_a_time(world, admin):
    lee = (await (await world.client.post("/api/accounts", json=NEW, headers=admin)).json())["id"]
    lees = await world.signed_in(NEW["email"], NEW["password"])

    async def change(**body):
        return await world.client.patch(f"/api/accounts/{lee}", json=body, headers=admin)

    assert (await change()).status == 400
    assert (await change(role="viewer", disabled=True)).status == 400
    answer = await change(role="viewer")
    assert (answer.status, (await answer.json())["role"]) == (200, "viewer")
    assert (await world.client.get("/api/auth/me", headers=bearer(lees))).status == 401, "his token said operator"
    assert (await (await change(disabled=True)).json())["disabled"]
    assert (await world.sign_in(NEW["email"], NEW["password"])).status == 401
    assert not (await (await change(disabled=False)).json())["disabled"]
    assert (await change(password="a new one from the admin")).status == 200
    assert (await world.sign_in(NEW["email"], "a new one from the admin")).status == 200


async def test_the_last_admin_stays_one(world, admin):
    for body in ({"disabled": True}, {"role": "viewer"}):
        answer = await world.client.patch(f"/api/accounts/{world.kim}", json=body, headers=admin)
        assert (answer.status, (await answer.json())["error"]) == (409, "CONFLICT")


async def test_an_admin_sees_and_ends_the_sessions_of_others(world, admin):
    lee = await world.account("lee@example.com", AccountRole.VIEWER)
    first = await world.signed_in("lee@example.com")
    await world.signed_in("lee@example.com")
    await world.signed_in("lee@example.com")
    listed = await (await world.client.get(f"/api/accounts/{lee}/sessions", headers=admin)).json()
    assert len(listed["sessions"]) == 3
    one = await world.client.delete(f"/api/accounts/{lee}/sessions/{first['session']['id']}", headers=admin)
    assert one.status == 204
    rest = await world.client.delete(f"/api/accounts/{lee}/sessions", headers=admin)
    assert await rest.json() == {"ended": 2}
    assert (await world.client.get("/api/accounts/nobody/sessions", headers=admin)).status == 400


@pytest.mark.parametrize("role", [AccountRole.VIEWER, AccountRole.OPERATOR])
async def test_others_than_admins_may_not(world, role):
    await world.account("lee@example.com", role)
    headers = bearer(await world.signed_in("lee@example.com"))
    for method, path in (
        ("GET", "/api/accounts"),
        ("POST", "/api/accounts"),
        ("GET", f"/api/accounts/{world.kim}"),
        ("PATCH", f"/api/accounts/{world.kim}"),
        ("GET", f"/api/accounts/{world.kim}/sessions"),
        ("DELETE", f"/api/accounts/{world.kim}/sessions"),
    ):
        answer = await world.client.request(method, path, json=NEW, headers=headers)
        assert (answer.status, (await answer.json())["error"]) == (403, "42501"), (method, path)


async def test_without_the_read_model_there_is_no_list_and_all_else_works(world, admin):
    answer = await world.client.get("/api/accounts", headers=admin)
    assert (answer.status, (await answer.json())["error"]) == (503, "UNAVAILABLE")
    for query in ("limit=x", "limit=-1", "limit=201", "offset=٣"):
        assert (await world.client.get(f"/api/accounts?{query}", headers=admin)).status == 400
