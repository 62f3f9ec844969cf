"""Refreshing: rotation, two tabs, thieves, and the three cases of 001 §6.2 as far as the server goes."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from drover.api.identity.refresh_tokens import PREFIX, RefreshTokens
from drover.domain.alerts import AlertRaised
from drover.domain.identity.commands import RotateRefresh
from drover.service.identity_keys import IdentityKeys
from tests.unit.api.identity.conftest import EMAIL, FETCH, PASSWORD, bearer
from tests.unit.api.identity.test_sign_in import metric


@pytest.mark.req("SY-09", "SY-10", "SY-20")
async def test_case_1_an_expired_token_is_401_then_refreshed_then_200(world):
    """Given 만료된 JWT 토큰, when API 요청, then 401 → 토큰 갱신 → 재시도 → 200 성공."""
    signed_in = await world.signed_in()
    world.after(minutes=15)
    answer = await world.client.get("/api/auth/me", headers=bearer(signed_in))
    assert answer.status == 401
    assert await answer.json() == {"error": "TOKEN_EXPIRED", "message": "Please refresh your token"}
    refreshed = await world.refresh()
    assert refreshed.status == 200
    answer = await world.client.get("/api/auth/me", headers=bearer(await refreshed.json()))
    assert answer.status == 200


@pytest.mark.req("SY-10", "SY-14")
async def test_case_2_a_session_that_is_over_too_cannot_be_refreshed(world):
    """Given 만료된 세션 (Clerk에서도 만료), when API 요청, then 401 → 갱신 실패 → 로그아웃 → 로그인 페이지."""
    signed_in, cookie = await world.signed_in(), world.cookie()
    world.after(days=8)
    answer = await world.client.get("/api/auth/me", headers=bearer(signed_in))
    assert (answer.status, (await answer.json())["error"]) == (401, "TOKEN_EXPIRED")
    refused = await world.with_cookie("/api/auth/refresh", cookie)
    assert refused.status == 401
    assert await refused.json() == {"error": "SESSION_EXPIRED", "message": "Please sign in again"}
    assert refused.cookies["drover_refresh"]["max-age"] == "0", "and the browser forgets it"
    assert (await world.client.post("/api/auth/refresh", headers=FETCH | {"Cookie": ""})).status == 401


async def test_case_2_with_the_token_itself(world):
    session = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    world.after(days=8)
    answer = await world.token("refresh_token", refresh_token=session["refresh_token"])
    body = await answer.json()
    assert (answer.status, body["error_code"]) == (400, "session_expired")


@pytest.mark.req("SY-10", "SY-13")
async def test_case_3_five_requests_at_once_and_the_first_one_refreshes(world):
    """Given 만료된 토큰, 동시 API 요청 5개, when 첫 번째 요청이 토큰 갱신,
    then 나머지 4개는 새 토큰으로 자동 재시도."""
    signed_in = await world.signed_in()
    world.after(minutes=15)

    async def me(token):
        return (await world.client.get("/api/auth/me", headers=bearer(token))).status

    assert await asyncio.gather(*(me(signed_in) for _ in range(5))) == [401] * 5
    refreshed = await (await world.refresh()).json()
    assert await asyncio.gather(*(me(refreshed) for _ in range(4))) == [200] * 4
    # And if all five had asked for a new token at once, as five tabs do, nobody would be signed out.
    world.after(minutes=15)
    answers = await asyncio.gather(*(world.refresh() for _ in range(5)))
    assert [answer.status for answer in answers] == [200] * 5
    assert len({answer.cookies["drover_refresh"].value for answer in answers}) == 1


@pytest.mark.req("SY-14", "SY-15", "SY-18")
async def test_a_refresh_is_counted_and_logged_by_user_id(world):
    before = metric("drover_token_refreshes_total", outcome="ok")
    await world.signed_in()
    with capture_logs() as logged:
        assert (await world.refresh()).status == 200
    assert metric("drover_token_refreshes_total", outcome="ok") == before + 1
    (entry,) = [entry for entry in logged if "refreshed" in entry["event"]]
    assert entry["event"] == f"auth: Token refreshed for user {world.kim}"
    assert entry["log_level"] == "info"


@pytest.mark.req("SY-13")
async def test_two_tabs_get_the_same_child(world):
    await world.signed_in()
    parent = world.cookie()
    world.after(minutes=14)
    first = await world.refresh()
    child = first.cookies["drover_refresh"].value
    world.after(seconds=10)
    second = await world.with_cookie("/api/auth/refresh", parent)
    assert second.status == 200
    assert second.cookies["drover_refresh"].value == child != parent


@pytest.mark.req("SY-13")
async def test_a_replayed_refresh_token_ends_the_family(world):
    before = metric("drover_token_refreshes_total", outcome="refused")
    session = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    stolen = session["refresh_token"]
    honest = await (await world.token("refresh_token", refresh_token=stolen)).json()
    world.after(seconds=11)
    thief = await world.token("refresh_token", refresh_token=stolen)
    assert thief.status == 400
    assert (await thief.json())["error_code"] == "refresh_token_already_used"
    answer = await world.token("refresh_token", refresh_token=honest["refresh_token"])
    assert answer.status == 400, "the honest one is signed out too: nobody can tell which of them is which"
    assert (await world.client.get("/api/auth/me", headers=bearer(honest))).status == 401
    assert [event.kind for event in world.bus.events if isinstance(event, AlertRaised)] == ["refresh_token_reused"]
    assert metric("drover_token_refreshes_total", outcome="refused") == before + 2


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "x",
        "a" * 5000,
        f"{PREFIX}.{'A' * 22}.{'A' * 43}.{'A' * 22}",
        pytest.param(RefreshTokens(IdentityKeys(["x" * 32]).refresh).first(str(uuid4())), id="by another key"),
        "drt1.é",
        "drt1\x00",
    ],
)
async def test_a_token_that_we_did_not_issue_reaches_nobody_and_ends_nothing(world, forged):
    session = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    world.bus.sent.clear()
    answer = await world.token("refresh_token", refresh_token=forged)
    assert (answer.status, (await answer.json())["error_code"]) == (400, "refresh_token_not_found")
    assert not world.bus.sent
    assert (await world.token("refresh_token", refresh_token=session["refresh_token"])).status == 200


async def test_with_the_id_of_a_session_alone_nobody_can_end_it(world):
    """An access token shows the id of its session. A made-up token for it must not pass for a replay."""
    session = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    prefix, of_session, secret, tag = session["refresh_token"].split(".")
    for made_up in (f"{prefix}.{of_session}.{'B' * 43}.{tag}", f"{prefix}.{of_session}.{secret}.{'B' * 22}"):
        assert (await world.token("refresh_token", refresh_token=made_up)).status == 400
    assert (await world.token("refresh_token", refresh_token=session["refresh_token"])).status == 200


async def test_a_session_cannot_be_fixed_beforehand(world):
    """A cookie that somebody planted does not become part of the session that its victim begins."""
    await world.account("mallory@example.com")
    planted = await world.token("password", email="mallory@example.com", password=PASSWORD)
    token = (await planted.json())["refresh_token"]
    victim_signs_in = {"email": EMAIL, "password": PASSWORD}
    answer = await world.with_cookie("/api/auth/sign-in", token, json=victim_signs_in)
    victim = await answer.json()
    assert answer.cookies["drover_refresh"].value != token
    mallory = await (await world.token("refresh_token", refresh_token=token)).json()
    assert mallory["user"]["email"] == "mallory@example.com", "what was planted is still only mallory's"
    me = await (await world.client.get("/api/auth/me", headers=bearer(victim))).json()
    assert me["user"]["id"] == world.kim


async def test_what_went_wrong_with_the_writer_signs_nobody_out(world):
    await world.signed_in()
    world.bus.down = True
    answer = await world.refresh()
    assert (answer.status, answer.headers.get("Set-Cookie")) == (503, None)
    world.bus.down = False
    assert (await world.refresh()).status == 200


async def test_a_refused_refresh_takes_the_cookie_away(world):
    signed_in = await world.signed_in()
    await world.client.delete(f"/api/auth/sessions/{signed_in['session']['id']}", headers=bearer(signed_in))
    token = RefreshTokens(IdentityKeys(world.settings.identity_secrets).refresh).first(signed_in["session"]["id"])
    answer = await world.with_cookie("/api/auth/refresh", token)
    assert answer.status == 401
    assert answer.cookies["drover_refresh"]["max-age"] == "0"


async def test_a_changed_secret_does_not_sign_people_out(make_world):
    old = await make_world(identity_secrets="o" * 32)
    await old.account()
    session = await (await old.token("password", email=EMAIL, password=PASSWORD)).json()
    new = await make_world(identity_secrets=f"{'n' * 32},{'o' * 32}")
    new.bus.scenario = old.bus.scenario
    new.leader.store = old.leader.store
    first = await (await new.token("refresh_token", refresh_token=session["refresh_token"])).json()
    again = await (await old.token("refresh_token", refresh_token=session["refresh_token"])).json()
    assert first["access_token"]
    assert "error" in again, "a process that does not know the new secret cannot give its child"
    repeated = await (await new.token("refresh_token", refresh_token=session["refresh_token"])).json()
    assert repeated["refresh_token"] == first["refresh_token"]
    assert (await new.sign_in()).status == 200, "and their addresses are found under the old one"


async def test_within_the_grace_the_child_of_the_old_secret_is_found_by_who_has_both(make_world):
    old = await make_world(identity_secrets="o" * 32)
    await old.account()
    session = await (await old.token("password", email=EMAIL, password=PASSWORD)).json()
    child = await (await old.token("refresh_token", refresh_token=session["refresh_token"])).json()
    new = await make_world(identity_secrets=f"{'n' * 32},{'o' * 32}")
    new.bus.scenario = old.bus.scenario
    repeated = await (await new.token("refresh_token", refresh_token=session["refresh_token"])).json()
    assert repeated["refresh_token"] == child["refresh_token"]


async def test_what_the_writer_is_told_of_a_token_is_its_digest(world):
    session = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    world.bus.sent.clear()
    await world.token("refresh_token", refresh_token=session["refresh_token"])
    command, by = world.bus.sent[0]
    assert isinstance(command, RotateRefresh)
    assert session["refresh_token"] not in repr(command)
    assert by == f"session:{command.session_id}"
