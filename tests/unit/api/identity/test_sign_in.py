"""Signing in: what a person gets, what a stranger does not learn, and how often either may try."""

from __future__ import annotations

import jwt
import pytest
from prometheus_client import REGISTRY

from drover.api.identity import passwords
from drover.domain.identity.commands import DisableAccount, ErasePerson, FindAccount, StartSession
from drover.domain.identity.events import SessionStarted
from drover.domain.identity.policy import AccountRole
from drover.domain.identity.subjects import person
from drover.service.sealing import Sealer
from drover.testing.waiting import eventually
from tests.unit.api.identity.conftest import CHEAP, EMAIL, FETCH, PASSWORD, bearer


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_a_person_signs_in_and_is_told_who_they_are(world):
    before = metric("drover_sign_ins_total", outcome="ok")
    answer = await world.sign_in()
    body = await answer.json()
    assert answer.status == 200
    assert (body["token_type"], body["expires_in"]) == ("bearer", 900)
    assert body["expires_at"] == int(world.seconds()) + 900
    assert body["user"] == {
        "id": world.kim,
        "email": EMAIL,
        "role": "admin",
        "disabled": False,
        "created_at": "2026-03-02T12:00:00Z",
        "updated_at": "2026-03-02T12:00:00Z",
        "last_sign_in_at": None,
    }
    assert "refresh_token" not in body, "it is for the cookie, which no script reads"
    assert answer.headers["Cache-Control"] == "no-store"
    me = await (await world.client.get("/api/auth/me", headers=bearer(body))).json()
    assert (me["user"]["email"], me["session_id"]) == (EMAIL, body["session"]["id"])
    assert metric("drover_sign_ins_total", outcome="ok") == before + 1


@pytest.mark.req("SE-11")
async def test_every_sign_in_is_on_record_and_no_failed_one(world):
    assert (await world.sign_in(password="wrong")).status == 401
    assert (await world.sign_in()).status == 200
    assert (await world.token("password", email=EMAIL, password=PASSWORD)).status == 200
    await eventually(lambda: len(world.log.recorded) == 2)
    sessions = [event.session_id for event in world.bus.events if isinstance(event, SessionStarted)]
    assert sorted(world.log.lines()) == sorted((f"user:{world.kim}", "sign_in", f"session {id_}") for id_ in sessions)


@pytest.mark.req("SY-13", "SY-21")
async def test_the_refresh_token_is_in_a_cookie_that_scripts_and_other_sites_cannot_use(world):
    cookie = (await world.sign_in()).cookies["drover_refresh"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Strict"
    assert cookie["path"] == "/api/auth"
    assert not cookie["secure"], "on this machine, without TLS"
    assert int(cookie["max-age"]) == 7 * 86_400


@pytest.mark.req("SY-21")
async def test_behind_a_proxy_with_tls_the_cookie_is_secure(make_world):
    world = await make_world(trusted_proxies="127.0.0.1")
    await world.account()
    answer = await world.sign_in(**{"X-Forwarded-Proto": "https"})
    assert answer.cookies["drover_refresh"]["secure"]
    answer = await world.client.post("/api/auth/sign-out", headers=FETCH | {"X-Forwarded-Proto": "https"})
    assert answer.cookies["drover_refresh"]["secure"], "the same when it is taken away, or browsers keep it"


@pytest.mark.req("SE-07")
async def test_in_a_closed_network_that_may_use_plain_http_browsers_keep_the_cookie(make_world):
    world = await make_world(plain_http_from="127.0.0.1")
    await world.account()
    answer = await world.sign_in(**{"X-Forwarded-Proto": "http"})
    assert (answer.status, answer.cookies["drover_refresh"]["secure"]) == (200, "")


@pytest.mark.req("SY-21")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/auth/v1/token?grant_type=password"),
        ("POST", "/auth/v1/token?grant_type=refresh_token"),
        ("GET", "/auth/v1/user"),
        ("POST", "/auth/v1/logout"),
        ("POST", "/api/auth/sign-in"),
        ("POST", "/api/auth/refresh"),
        ("POST", "/api/auth/sign-out"),
        ("POST", "/api/auth/password"),
        ("GET", "/api/auth/me"),
        ("GET", "/api/auth/sessions"),
        ("DELETE", "/api/auth/sessions"),
        ("DELETE", "/api/auth/sessions/x"),
        ("GET", "/api/accounts"),
        ("POST", "/api/accounts"),
    ],
)
async def test_plain_http_through_a_proxy_is_refused_before_anything_is_looked_at(world, method, path):
    answer = await world.client.request(method, path, data=b"not json", headers=FETCH | {"X-Forwarded-Proto": "http"})
    assert (answer.status, (await answer.json())["error"]) == (403, "HTTPS_REQUIRED")
    assert not world.bus.sent


@pytest.mark.req("SY-15", "SY-21")
async def test_an_access_token_says_who_and_for_how_long_and_nothing_personal(world):
    claims = jwt.decode((await world.signed_in())["access_token"], options={"verify_signature": False})
    assert claims.keys() == {"iss", "aud", "sub", "role", "session_id", "iat", "exp"}
    assert claims["exp"] - claims["iat"] == 900
    assert claims["sub"] == world.kim


@pytest.mark.parametrize("written", [f"  {EMAIL} ", EMAIL.upper(), "ＫＩＭ.younghee@example.com"])
async def test_an_address_can_be_written_in_more_than_one_way(world, written):
    assert (await world.sign_in(written)).status == 200


async def test_a_password_in_hangul_is_the_same_however_a_keyboard_composes_it(world):
    await world.account("lee@example.com", AccountRole.VIEWER, "비밀번호는아주깁니다정말로")
    import unicodedata

    decomposed = unicodedata.normalize("NFD", "비밀번호는아주깁니다정말로")
    assert (await world.sign_in("lee@example.com", decomposed)).status == 200


@pytest.mark.req("SE-09")
async def test_wrong_password_unknown_address_and_disabled_account_are_told_the_same_after_the_same_work(
    world, monkeypatch
):
    """The same for an erased account, and for one that an earlier version sealed."""
    lee = await world.account("lee@example.com", AccountRole.VIEWER)
    await world.bus.send("identity", DisableAccount(lee), by="test")
    park = await world.account("park@example.com", AccountRole.VIEWER)
    await world.bus.send("identity", ErasePerson(park), by="test")
    await world.keys.destroy(person(park))
    await world.account("choi@example.com", AccountRole.VIEWER)
    (choi,) = (one for one in world.bus.scenario.state.accounts.values() if one.account_id not in (world.kim, lee))
    choi.password_sealed = Sealer(world.keys.ring).seal(
        CHEAP.hash(PASSWORD).encode(), context=passwords.PURPOSE, subject=choi.account_id
    )
    assert (await world.sign_in("nobody at all", PASSWORD)).status == 401, "the first one of a process makes the decoy"
    worked = []
    verify = passwords.Passwords._verify
    monkeypatch.setattr(passwords.Passwords, "_verify", lambda self, *args: worked.append(args) or verify(self, *args))
    told = []
    for email, password in (
        (EMAIL, "wrong password"),
        (EMAIL, "wrong again, while the key is known here"),
        ("nobody@example.com", PASSWORD),
        ("lee@example.com", PASSWORD),
        ("park@example.com", PASSWORD),
        ("choi@example.com", "wrong password"),
        ("not even an address", PASSWORD),
        (EMAIL, "x" * 5000),
    ):
        world.bus.sent.clear()
        worked.clear()
        world.leader.questions.clear()
        answer = await world.sign_in(email, password)
        commands = [type(command) for command, _ in world.bus.sent]
        keys = [(len(question.fetch), len(question.create)) for question in world.leader.questions]
        cookie = answer.headers.get("Set-Cookie")
        told.append((answer.status, await answer.text(), commands, keys, len(worked), cookie))
    assert told == [told[0]] * 8
    status, body, commands, keys, hashes, cookie = told[0]
    assert status == 401
    assert '"INVALID_CREDENTIALS"' in body
    assert (commands, hashes, cookie) == ([FindAccount], 1, None)
    assert keys == [(1, 0)], "one key is fetched"


async def test_a_password_that_was_changed_while_it_was_checked_signs_nobody_in(world):
    send = world.bus.send

    async def changed_meanwhile(context, command, **about):
        if isinstance(command, StartSession):
            command.revision -= 1
        return await send(context, command, **about)

    world.bus.send = changed_meanwhile
    answer = await world.sign_in()
    assert (answer.status, (await answer.json())["error"]) == (401, "INVALID_CREDENTIALS")


async def test_guessing_a_password_is_slowed_down_by_account(make_world):
    world = await make_world(sign_ins_per_min="6", sign_ins_burst="5")
    await world.account()
    for number in range(5):
        assert (await world.sign_in(EMAIL, f"guess number {number}")).status == 401
    before = metric("drover_sign_ins_total", outcome="limited")
    answer = await world.sign_in(EMAIL, PASSWORD)
    assert answer.status == 429, "the right one too: nobody learns that it was"
    assert (await answer.json())["error"] == "RATE_LIMITED"
    assert int(answer.headers["Retry-After"]) >= 1
    assert metric("drover_sign_ins_total", outcome="limited") == before + 1
    answer = await world.token("password", email=EMAIL.upper(), password=PASSWORD)
    assert answer.status == 429, "however the address is written, and at the other door too"
    assert (await world.sign_in("nobody@example.com")).status == 401, "other accounts are not held up"


async def test_guessing_many_accounts_is_slowed_down_by_address(make_world):
    world = await make_world(sign_ins_per_min="6", sign_ins_burst="2")
    statuses = [(await world.sign_in(f"user{number}@example.com")).status for number in range(12)]
    assert statuses == [401] * 10 + [429] * 2


async def test_too_many_at_once_are_told_to_come_back(world, monkeypatch):
    monkeypatch.setattr(passwords, "WAITING_MAX", 0)
    answer = await world.sign_in()
    assert (answer.status, (await answer.json())["error"]) == (503, "OVERLOADED")
    assert "Retry-After" in answer.headers


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"email": "kim@example.com"}',
        b'{"email": "kim@example.com", "password": 123456789012}',
        b'{"email": ["kim@example.com"], "password": "secret secret"}',
        b"\xff",
        b"[" * 10_000,
    ],
)
@pytest.mark.parametrize("path", ["/api/auth/sign-in", "/auth/v1/token?grant_type=password"])
async def test_a_body_that_is_not_understood_is_refused_without_repeating_it(world, path, body):
    answer = await world.client.post(path, data=body, headers=FETCH | {"Content-Type": "application/json"})
    assert (answer.status, (await answer.json())["error"]) == (400, "VALIDATION_ERROR")
    said = await answer.text()
    assert "123456789012" not in said
    assert "kim@example.com" not in said


async def test_an_oversized_body_is_refused(world):
    answer = await world.sign_in(EMAIL, "x" * 20_000)
    assert (answer.status, (await answer.json())["error"]) == (413, "TOO_LARGE")


async def test_a_sign_in_that_another_site_made_the_browser_send_is_refused(world):
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example.com"}, {}):
        for path in ("/api/auth/sign-in", "/api/auth/refresh", "/api/auth/sign-out"):
            body = {"email": EMAIL, "password": PASSWORD}
            answer = await world.client.post(path, json=body, headers=headers)
            assert (answer.status, (await answer.json())["error"]) == (403, "CROSS_SITE")
    assert not world.bus.sent


async def test_while_nobody_leads_it_is_503_and_not_a_wrong_password(world):
    world.bus.down = True
    answer = await world.sign_in()
    assert (answer.status, (await answer.json())["error"]) == (503, "UNAVAILABLE")


@pytest.mark.req("SY-13")
async def test_a_limit_on_sessions_ends_the_least_recently_used_one(make_world):
    world = await make_world(sessions_max="2")
    await world.account()
    first, second, third = [await world.signed_in() for _ in range(3)]
    listed = await (await world.client.get("/api/auth/sessions", headers=bearer(third))).json()
    assert [row["id"] for row in listed["sessions"]] == [third["session"]["id"], second["session"]["id"]]
    assert (await world.client.get("/api/auth/me", headers=bearer(first))).status == 401
