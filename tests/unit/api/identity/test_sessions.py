"""A person's sessions: seen, ended, and their tokens with them."""

from __future__ import annotations

from uuid import uuid4

import pytest

from drover.domain.identity.policy import AccountRole
from drover.service.api_keys import Role, issue_api_key
from tests.unit.api.identity.conftest import API_SECRET, EMAIL, FETCH, PASSWORD, Elsewhere, bearer

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.mark.req("SY-13")
async def test_a_person_sees_their_sessions_and_which_one_asks(world):
    await world.sign_in(**{"User-Agent": FIREFOX})
    here = await world.signed_in()
    answer = await world.client.get("/api/auth/sessions", headers=bearer(here))
    rows = (await answer.json())["sessions"]
    assert [(row["user_agent"], row["current"]) for row in rows] == [
        ("Unknown client", True),
        ("Firefox on Windows", False),
    ]
    assert rows[0].keys() == {"id", "user_agent", "started_at", "last_used_at", "expires_at", "current"}


@pytest.mark.req("SY-13")
async def test_a_person_ends_one_session_and_its_token_is_worth_nothing_at_once(world):
    there, here = await world.signed_in(), await world.signed_in()
    path = f"/api/auth/sessions/{there['session']['id']}"
    assert (await world.client.delete(path, headers=bearer(here))).status == 204
    answer = await world.client.get("/api/auth/me", headers=bearer(there))
    assert (answer.status, (await answer.json())["error"]) == (401, "TOKEN_EXPIRED")
    assert (await world.client.get("/api/auth/me", headers=bearer(here))).status == 200
    assert (await world.client.delete(path, headers=bearer(here))).status == 404


@pytest.mark.req("SY-13")
async def test_a_person_ends_all_other_sessions(world):
    others = [await world.signed_in() for _ in range(3)]
    here = await world.signed_in()
    answer = await world.client.delete("/api/auth/sessions", headers=bearer(here))
    assert await answer.json() == {"ended": 3}
    for other in others:
        assert (await world.client.get("/api/auth/me", headers=bearer(other))).status == 401
    assert (await world.client.get("/api/auth/me", headers=bearer(here))).status == 200
    answer = await world.client.delete("/api/auth/sessions", headers=bearer(here))
    assert await answer.json() == {"ended": 0}


async def test_nobody_ends_the_session_of_somebody_else(world):
    kims = await world.signed_in()
    await world.account("lee@example.com", AccountRole.VIEWER)
    lees = await world.signed_in("lee@example.com")
    answer = await world.client.delete(f"/api/auth/sessions/{kims['session']['id']}", headers=bearer(lees))
    assert answer.status == 404
    assert (await world.client.get("/api/auth/me", headers=bearer(kims))).status == 200
    for nonsense in ("nonsense", "%00", str(uuid4())):
        answer = await world.client.delete(f"/api/auth/sessions/{nonsense}", headers=bearer(lees))
        assert answer.status in (400, 404)


async def test_signing_out_ends_the_session_and_takes_the_cookie(world):
    here = await world.signed_in()
    answer = await world.client.post("/api/auth/sign-out", headers=FETCH)
    assert answer.status == 204
    assert answer.cookies["drover_refresh"]["max-age"] == "0"
    assert (await world.client.get("/api/auth/me", headers=bearer(here))).status == 401
    assert (await world.refresh()).status == 401
    assert (await world.client.post("/api/auth/sign-out", headers=FETCH)).status == 204, "again, to be sure"


@pytest.mark.req("SY-13")
async def test_a_changed_password_leaves_only_the_session_that_changed_it(world):
    other, here = await world.signed_in(), await world.signed_in()
    body = {"current_password": "wrong", "new_password": "another good password"}
    answer = await world.client.post("/api/auth/password", json=body, headers=bearer(here))
    assert (answer.status, (await answer.json())["error"]) == (401, "INVALID_CREDENTIALS")
    answer = await world.client.post(
        "/api/auth/password", json=body | {"current_password": PASSWORD}, headers=bearer(here)
    )
    assert answer.status == 204
    assert (await world.client.get("/api/auth/me", headers=bearer(other))).status == 401
    assert (await world.client.get("/api/auth/me", headers=bearer(here))).status == 200
    assert (await world.sign_in(EMAIL, PASSWORD)).status == 401
    assert (await world.sign_in(EMAIL, "another good password")).status == 200


async def test_a_short_password_is_refused(world):
    here = await world.signed_in()
    body = {"current_password": PASSWORD, "new_password": "too short"}
    answer = await world.client.post("/api/auth/password", json=body, headers=bearer(here))
    assert answer.status == 400
    assert "12 characters" in (await answer.json())["message"]


@pytest.mark.req("SY-09", "SY-17")
@pytest.mark.parametrize(
    ("headers", "status", "body"),
    [
        ({}, 401, {"error": "UNAUTHORIZED", "message": "Missing token"}),
        ({"Authorization": "Bearer x"}, 401, {"error": "INVALID_TOKEN", "message": "Invalid authentication token"}),
    ],
)
async def test_without_a_good_token_the_answer_is_what_001_says(world, headers, status, body):
    for method, path in (("GET", "/api/auth/me"), ("GET", "/api/auth/sessions"), ("GET", "/api/accounts")):
        answer = await world.client.request(method, path, headers=headers)
        said = await answer.json()
        assert (answer.status, {name: said[name] for name in body}) == (status, body)


async def test_a_key_is_nobody(world):
    for role in (Role.ANON, Role.SERVICE_ROLE):
        headers = {"apikey": issue_api_key(API_SECRET, role, now_s=world.seconds())}
        for path in ("/api/auth/me", "/api/auth/sessions", "/api/accounts", f"/api/accounts/{world.kim}"):
            assert (await world.client.get(path, headers=headers)).status == 403


async def test_the_same_id_at_another_issuer_is_somebody_else(world):
    """Whoever keeps other people's accounts must not get at ours by calling somebody what we call an admin."""
    kims = await world.signed_in()
    forged = Elsewhere.vouches_for(world.kim, Role.VIEWER)
    me = await (await world.client.get("/api/auth/me", headers=forged)).json()
    assert (me["user"], me["issuer"]) == ({"id": world.kim, "role": "viewer"}, Elsewhere.issuer)
    for method, path in (
        ("GET", "/api/auth/sessions"),
        ("DELETE", "/api/auth/sessions"),
        ("DELETE", f"/api/auth/sessions/{kims['session']['id']}"),
        ("POST", "/api/auth/password"),
        ("GET", "/auth/v1/user"),
        ("POST", "/auth/v1/logout"),
    ):
        answer = await world.client.request(method, path, headers=forged)
        assert (answer.status, (await answer.json())["error"]) == (403, "FOREIGN_ISSUER"), path
    assert (await world.client.get("/api/auth/me", headers=bearer(kims))).status == 200
    stranger = Elsewhere.vouches_for("user_abc", Role.AUTHENTICATED)
    assert (await world.client.get("/api/auth/me", headers=stranger)).status == 200
    assert (await world.client.get("/api/accounts", headers=stranger)).status == 403
