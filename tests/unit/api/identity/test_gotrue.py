"""The shape of Supabase's auth API, as its clients read it."""

from __future__ import annotations

import asyncio

import jwt
import pytest

from drover.web import bodies
from tests.unit.api.identity.conftest import EMAIL, PASSWORD, bearer


@pytest.fixture
async def session(world):
    answer = await world.token("password", email=EMAIL, password=PASSWORD, gotrue_meta_security="")
    assert answer.status == 200
    return await answer.json()


async def test_a_session_has_what_clients_look_for(world, session):
    assert session.keys() == {"access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user"}
    user = session["user"]
    assert (user["id"], user["email"], user["role"], user["aud"]) == (world.kim, EMAIL, "admin", "authenticated")
    assert user.keys() >= {"app_metadata", "user_metadata", "created_at", "updated_at", "identities"}


async def test_refreshing_gives_the_next_pair(world, session):
    answer = await world.token("refresh_token", refresh_token=session["refresh_token"])
    refreshed = await answer.json()
    assert answer.headers["Cache-Control"] == "no-store"
    assert refreshed.keys() == session.keys()
    assert refreshed["refresh_token"] != session["refresh_token"]


async def test_wrong_credentials_are_told_as_gotrue_does(world):
    answer = await world.token("password", email=EMAIL, password="wrong")
    assert answer.status == 400
    assert await answer.json() == {
        "error": "INVALID_CREDENTIALS",
        "message": "Invalid login credentials",
        "error_code": "invalid_credentials",
    }


@pytest.mark.parametrize("grant", ["", "pkce", "id_token"])
async def test_other_grants_are_refused(world, grant):
    answer = await world.token(grant, email=EMAIL, password=PASSWORD)
    assert (answer.status, (await answer.json())["error_code"]) == (400, "unsupported_grant_type")


async def test_the_user_behind_a_token(world, session):
    user = await (await world.client.get("/auth/v1/user", headers=bearer(session))).json()
    assert (user["id"], user["email"]) == (world.kim, EMAIL)
    assert user["last_sign_in_at"]
    answer = await world.client.get("/auth/v1/user")
    assert (answer.status, (await answer.json())["error"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(("scope", "left"), [("?scope=local", 1), ("?scope=others", 1), ("?scope=global", 0), ("", 0)])
async def test_logging_out_ends_what_was_meant(world, session, scope, left):
    other = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    answer = await world.client.post(f"/auth/v1/logout{scope}", headers=bearer(session))
    assert answer.status == 204
    assert len(world.bus.scenario.state.sessions) == left
    here = await world.client.get("/auth/v1/user", headers=bearer(session))
    assert here.status == (200 if scope == "?scope=others" else 401)
    there = await world.client.get("/auth/v1/user", headers=bearer(other))
    assert there.status == (200 if scope == "?scope=local" else 401)


async def test_an_unknown_scope_ends_nothing(world, session):
    assert (await world.client.post("/auth/v1/logout?scope=x", headers=bearer(session))).status == 400
    assert len(world.bus.scenario.state.sessions) == 1


async def test_the_published_keys_verify_its_tokens(world, session):
    answer = await world.client.get("/auth/v1/.well-known/jwks.json")
    keys = jwt.PyJWKSet.from_dict(await answer.json())
    kid = jwt.get_unverified_header(session["access_token"])["kid"]
    claims = jwt.decode(
        session["access_token"],
        keys[kid].key,
        algorithms=["ES256"],
        audience="authenticated",
        options={"verify_exp": False},
    )
    assert claims["sub"] == world.kim


@pytest.mark.req("SE-06")
async def test_a_slow_body_is_dropped_and_others_sign_in_meanwhile(world, monkeypatch):
    monkeypatch.setattr(bodies, "BODY_WITHIN_S", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", world.client.port)
    writer.write(b"POST /auth/v1/token?grant_type=password HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    answer = await world.token("password", email=EMAIL, password=PASSWORD)
    assert answer.status == 200
    async with asyncio.timeout(60):
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
    writer.close()
