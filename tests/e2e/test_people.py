"""People on a real platform: signing in with real clients, sessions that end everywhere, keys that are changed."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import time
from contextlib import asynccontextmanager
from uuid import uuid4

import aiohttp
import jwt
import pytest
from aiohttp import web
from argon2 import PasswordHasher
from cryptography.hazmat.primitives.asymmetric import rsa
from supabase import acreate_client
from supabase_auth.errors import AuthApiError

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.cli.exits import Exit
from drover.domain.identity.commands import CreateAccount
from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import Sealer
from drover.testing.waiting import eventually
from tests.e2e.process import run_command, run_to_the_end
from tests.integration.api.listening import listening

FETCH = {"Sec-Fetch-Site": "same-origin"}
PASSWORD = "correct horse battery"
GRACE_AND_MORE_S = 40.0
NEW_SECRET = "n" * 64
NEW_KEY = f"k2:{base64.b64encode(os.urandom(32)).decode()}"


class Browser:
    """A person with a browser: a cookie jar, and the access token that the page holds."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session
        self.token = ""

    async def call(self, method: str, path: str, **content) -> tuple[int, dict]:
        headers = FETCH | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        async with self._session.request(method, self._url + path, headers=headers, **content) as answer:
            raw = await answer.read()
            return answer.status, json.loads(raw) if raw else {}

    async def sign_in(self, email: str, password: str) -> tuple[int, dict]:
        status, body = await self.call("POST", "/api/auth/sign-in", json={"email": email, "password": password})
        self.token = body.get("access_token", "")
        return status, body

    async def refresh(self) -> tuple[int, dict]:
        status, body = await self.call("POST", "/api/auth/refresh")
        self.token = body.get("access_token", self.token)
        return status, body

    def cookie(self) -> str:
        (cookie,) = [cookie for cookie in self._session.cookie_jar if cookie.key == "drover_refresh"]
        return cookie.value


@asynccontextmanager
async def browsing(platform):
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield Browser(platform.url, session)


def admin_of(platform) -> tuple[str, str]:
    keys = platform.credentials
    return keys["admin_email"], keys["admin_password"]


@pytest.mark.req("SY-09", "SY-13")
async def test_supabase_py_signs_in_reads_refreshes_and_signs_out(platform):
    email, password = admin_of(platform)
    client = await acreate_client(platform.url, platform.credentials["anon_key"])
    signed_in = await client.auth.sign_in_with_password({"email": email, "password": password})
    assert (signed_in.user.email, signed_in.user.role) == (email, "admin")
    first = signed_in.session

    # What the anon key may not, the person may: the client sends their token from here on.
    people = (await client.table("accounts").select("id,role,sessions(id)").execute()).data
    assert signed_in.user.id in {row["id"] for row in people}
    assert (await client.table("alerts").select("*").limit(1).execute()).data is not None

    refreshed = (await client.auth.refresh_session()).session
    assert refreshed.refresh_token != first.refresh_token
    assert (await client.auth.get_user()).user.id == signed_in.user.id
    claims = (await client.auth.get_claims())["claims"]
    assert (claims["sub"], claims["role"]) == (signed_in.user.id, "admin"), "verified with the published keys"

    await client.auth.sign_out()
    with pytest.raises(AuthApiError) as over:
        await client.auth.refresh_session(refreshed.refresh_token)
    assert (over.value.status, over.value.code) == (400, "session_expired")


async def test_supabase_py_is_told_of_a_wrong_password(platform):
    client = await acreate_client(platform.url, platform.credentials["anon_key"])
    with pytest.raises(AuthApiError) as refused:
        await client.auth.sign_in_with_password({"email": admin_of(platform)[0], "password": "wrong wrong wrong"})
    assert (refused.value.status, refused.value.code) == (400, "invalid_credentials")
    assert refused.value.message == "Invalid login credentials"


@pytest.mark.req("SY-09", "SY-17", "SY-20")
async def test_the_three_refusals_in_the_words_of_001(platform):
    async with browsing(platform) as nobody:
        status, body = await nobody.call("GET", "/api/status")
        assert (status, body["error"], body["message"]) == (401, "UNAUTHORIZED", "Missing token")
        nobody.token = "not.a.token"
        status, body = await nobody.call("GET", "/api/status")
        assert (status, body["error"], body["message"]) == (401, "INVALID_TOKEN", "Invalid authentication token")
        status, body = await nobody.call("GET", "/rest/v1/devices")
        assert (status, body["code"], body["message"]) == (401, "UNAUTHORIZED", "Invalid API key")
        assert body.keys() == {"code", "message", "details", "hint"}


@pytest.mark.req("SY-13")
async def test_a_session_that_is_ended_is_over_at_every_door(platform):
    async with browsing(platform) as here, browsing(platform) as there:
        await here.sign_in(*admin_of(platform))
        await there.sign_in(*admin_of(platform))
        assert (await there.call("GET", "/rest/v1/jobs?limit=1"))[0] == 200
        _, listed = await here.call("GET", "/api/auth/sessions")
        (own,) = [row for row in listed["sessions"] if row["current"]]
        status, _ = await here.call("DELETE", "/api/auth/sessions")
        assert status == 200

        async def out():
            answers = [await there.call("GET", path) for path in ("/api/status", "/rest/v1/jobs?limit=1")]
            return [status for status, _ in answers] == [401, 401] and [
                body.get("error") or body.get("code") for _, body in answers
            ]

        assert await eventually(out) == ["TOKEN_EXPIRED", "TOKEN_EXPIRED"]
        assert (await there.refresh())[0] == 401
        assert (await here.call("GET", "/api/status"))[0] == 200
        _, listed = await here.call("GET", "/api/auth/sessions")
        assert [row["id"] for row in listed["sessions"]] == [own["id"]]


async def test_an_operator_works_on_the_farm_and_a_viewer_looks(platform, http):
    async with browsing(platform) as admin, browsing(platform) as person:
        await admin.sign_in(*admin_of(platform))
        for role, status in (("operator", 201), ("viewer", 403)):
            email = f"{role}@example.com"
            made = await admin.call("POST", "/api/accounts", json={"email": email, "password": PASSWORD, "role": role})
            assert made[0] == 201, made
            await person.sign_in(email, PASSWORD)
            job = {"title": f"of an {role}", "target_url": "https://youtu.be/abc", "target": {"device_ids": []}}
            assert (await person.call("POST", "/rest/v1/jobs", json=job))[0] == status
            assert (await person.call("GET", "/rest/v1/devices?limit=1"))[0] == 200
            assert (await person.call("GET", "/api/status"))[0] == 200
            assert (await person.call("GET", "/api/accounts"))[0] == 403
            assert (await person.call("GET", "/rest/v1/accounts"))[0] == 403
        _, listed = await admin.call("GET", "/api/accounts")
        emails = {row["email"]: row["role"] for row in listed["accounts"]}
        assert emails["operator@example.com"] == "operator"
        await http.catch_up()
        created = await http.rows("events", "type=eq.JobCreated&order=at.desc")
        assert created[0]["by"].startswith("user:")


@pytest.mark.req("SY-15")
async def test_what_people_do_is_told_without_what_it_says(platform):
    async with browsing(platform) as admin:
        async with listening(platform.url, platform.credentials["service_key"], "?context=identity") as listener:
            await admin.sign_in(*admin_of(platform))
            await admin.refresh()
            told = {}
            while len(told) < 3:  # accesses of the tests before may be recorded only now
                (one,) = await listener.next()
                told[one.type] = one
        assert told.keys() == {"SessionStarted", "AccessRecorded", "RefreshRotated"}
        started = told["SessionStarted"]
        assert not {"address", "address_sealed", "user_agent"} & told["AccessRecorded"].data.keys()
        assert started.data.keys() == {"type", "n", "at", "by", "cause", "trace", "session_id", "account_id"}

        async def rows():
            _, found = await admin.call(
                "GET", f"/rest/v1/events?context=eq.identity&entities=cs.{{{started.data['session_id']}}}&order=n"
            )
            return len(found) == 2 and found

        assert [(row["type"], row["data"]) for row in await eventually(rows)] == [
            ("SessionStarted", {}),
            ("RefreshRotated", {}),
        ]


@pytest.mark.slow
@pytest.mark.req("SY-13", "SY-14")
async def test_a_copy_of_a_token_ends_the_session_and_raises_an_alert(platform):
    async with browsing(platform) as person, browsing(platform) as thief:
        _, signed_in = await person.sign_in(*admin_of(platform))
        stolen = person.cookie()
        assert (await person.refresh())[0] == 200

        async def caught():
            """Within the grace the copy gets the same child, as a second tab would."""
            cookie = {"Cookie": f"drover_refresh={stolen}"}
            async with (
                aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.post(f"{platform.url}/api/auth/refresh", headers=FETCH | cookie) as answer,
            ):
                return answer.status == 401

        await eventually(caught, within_s=GRACE_AND_MORE_S, every_s=1.0)
        assert (await person.refresh())[0] == 401
        await thief.sign_in(*admin_of(platform))  # the owner, to look

        async def alert():
            _, found = await thief.call("GET", f"/rest/v1/alerts?subject=eq.{signed_in['session']['id']}")
            return found

        (raised,) = await eventually(alert)
        assert (raised["context"], raised["kind"]) == ("identity", "refresh_token_reused")
        async with aiohttp.ClientSession() as session, session.get(f"{platform.url}/metrics") as answer:
            metrics = await answer.text()
        assert 'drover_sign_outs_total{reason="reuse"} 1.0' in metrics
        assert 'drover_sign_outs_total{reason="expired"} 0.0' in metrics


@pytest.mark.req("SY-15")
async def test_sessions_outlive_a_restart_and_nothing_secret_is_in_the_log(start):
    platform = await start(DROVER_LOG_LEVEL="debug")
    email, password = admin_of(platform)
    async with browsing(platform) as person:
        assert (await person.sign_in(email, password))[0] == 200
        secrets = [password, email, person.token, person.cookie()]
        changed = {"current_password": password, "new_password": PASSWORD}
        assert (await person.call("POST", "/api/auth/password", json=changed))[0] == 204
        await person.sign_in(email, password)
        platform.send(signal.SIGTERM)
        assert await platform.ended() == 0
        output = platform.output

        again = await start(DROVER_LOG_LEVEL="debug")
        async with browsing(again) as other:
            assert (await other.sign_in(email, password))[0] == 401, "the owner has changed it: credentials.json is old"
            assert (await other.sign_in(email, PASSWORD))[0] == 200
            secrets += [PASSWORD, other.token, other.cookie()]
            status, body = await other.refresh()
            assert status == 200
            secrets += [other.token, other.cookie()]
        output += again.output
    assert "auth: Token refreshed for user " + body["user"]["id"] in output
    for secret in secrets:
        assert secret not in output


@pytest.mark.slow
async def test_keys_are_changed_without_signing_anybody_out(start):
    platform = await start()
    email, password = admin_of(platform)
    secrets = json.loads((platform.data_dir / "secrets.json").read_text())
    async with browsing(platform) as person:
        await person.sign_in(email, password)
        refresh = {"refresh_token": person.cookie()}
    platform.send(signal.SIGTERM)
    await platform.ended()

    both = {
        "DROVER_IDENTITY_SECRETS": f"{NEW_SECRET},{secrets['identity_secret']}",
        "DROVER_SEALING_KEYS": f"{NEW_KEY},{secrets['sealing_key']}",
    }
    platform = await start(**both)
    async with browsing(platform) as person:
        status, session = await person.call("POST", "/auth/v1/token?grant_type=refresh_token", json=refresh)
        assert (status, session["user"]["email"]) == (200, email)
        assert (await person.sign_in(email, password))[0] == 200, "found under the old key"
    options = ("--data-dir", platform.data_dir)
    folder = platform.data_dir.parent
    code, said = await run_to_the_end("account", "rekey", *options, output=folder / "rekey.log", environ=both)
    assert (code, said.strip()) == (Exit.OK, "1 of 1 accounts now use the current keys.")
    code, said = await run_to_the_end("account", "rekey", *options, output=folder / "again.log", environ=both)
    assert said.strip() == "0 of 1 accounts now use the current keys."
    platform.send(signal.SIGTERM)
    await platform.ended()

    alone = {"DROVER_IDENTITY_SECRETS": NEW_SECRET, "DROVER_SEALING_KEYS": NEW_KEY}
    platform = await start(**alone)
    async with browsing(platform) as person:
        status, body = await person.sign_in(email, password)
        assert (status, body["user"]["email"]) == (200, email)
    code, said = await run_to_the_end("account", "list", "--json", *options, output=folder / "list.log", environ=alone)
    (row,) = json.loads(said)
    assert (row["email"], row["role"], row["disabled"]) == (email, "admin", False)


@pytest.mark.slow
@pytest.mark.req("SE-09", "SE-10")
async def test_a_rotation_gives_accounts_of_earlier_versions_the_keys_of_their_people(start):
    platform = await start()
    options, folder = ("--data-dir", platform.data_dir), platform.data_dir.parent
    secrets = json.loads((platform.data_dir / "secrets.json").read_text())
    old_key = secrets["sealing_key"].partition(":")[0]
    email = "kim.younghee@example.com"

    async def signs_in(platform, *who: str) -> None:
        async with browsing(platform) as person:
            status, body = await person.sign_in(*who)
            assert (status, body.get("user", {}).get("email")) == (200, who[0])

    async def said_by(*words: str, **environ: str) -> str:
        code, said = await run_to_the_end(*words, *options, output=folder / "said.log", environ=environ)
        assert code == Exit.OK, said
        (folder / "said.log").unlink()
        return said

    async with connected(platform.credentials["nats_url"], "test") as client:
        made = await CommandBus(client).send("identity", account_of_before(secrets, email), by="test")
    assert isinstance(made, Accepted)
    await signs_in(platform, email, PASSWORD)

    async def listed() -> bool:
        return email in await said_by("account", "list")

    await eventually(listed)
    platform.send(signal.SIGTERM)
    await platform.ended()

    both = {"DROVER_SEALING_KEYS": f"{NEW_KEY},{secrets['sealing_key']}"}
    platform = await start(**both)
    said = await said_by("sealing", "status", **both)
    assert f"identity: {old_key} opens 1 accounts. `drover sealing rotate` changes that." in said
    said = await said_by("sealing", "rotate", **both)
    assert "identity: 1 of 2 accounts are sealed anew." in said
    wrapped = re.search(r"identity: (\d+) of (\d+) keys are wrapped anew, with k2", said)
    assert wrapped and wrapped[1] == wrapped[2] != "0"
    assert "identity: 0 of 2 accounts are sealed anew." in await said_by("sealing", "rotate", **both)

    async def unneeded() -> bool:
        line = f"identity: {old_key} opens no key and nothing in the tables any more."
        return line in await said_by("sealing", "status", **both)

    await eventually(unneeded)
    platform.send(signal.SIGTERM)
    await platform.ended()

    platform = await start(DROVER_SEALING_KEYS=NEW_KEY)
    await signs_in(platform, email, PASSWORD)
    await signs_in(platform, *admin_of(platform))


def account_of_before(secrets: dict[str, str], email: str) -> CreateAccount:
    """An account whose sealed fields have their keys inside, as earlier versions made it."""
    sealer, account_id = Sealer.from_settings([secrets["sealing_key"]]), str(uuid4())
    (email_hash,) = IdentityKeys([secrets["identity_secret"]]).email_hashes(email)
    return CreateAccount(
        account_id,
        email_hash,
        sealer.seal(email.encode(), context="identity.email", subject=account_id),
        "viewer",
        sealer.seal(PasswordHasher().hash(PASSWORD).encode(), context="identity.password", subject=account_id),
    )


@asynccontextmanager
async def issuing(*keys: dict):
    """Another issuer, on this machine."""

    async def jwks(request):
        return web.json_response({"keys": keys})

    app = web.Application()
    app.router.add_get("/jwks", jwks)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/jwks"
    finally:
        await runner.cleanup()


@pytest.mark.req("SY-09")
async def test_people_of_another_issuer_are_let_in_by_its_published_keys(start):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": "k", "use": "sig"}

    def token(signed_by=key, **claims):
        told = {"iss": "https://clerk.example.com", "aud": "drover", "sub": "user_abc123", "exp": time.time() + 60}
        return jwt.encode(told | claims, signed_by, algorithm="RS256", headers={"kid": "k"})

    async with issuing(jwk) as url:
        platform = await start(
            DROVER_JWKS_URL=url, DROVER_JWT_ISSUER="https://clerk.example.com", DROVER_JWT_AUDIENCE="drover"
        )
        async with browsing(platform) as person:
            person.token = token(role="viewer")
            assert (await person.call("GET", "/api/status"))[0] == 200
            assert (await person.call("GET", "/rest/v1/devices?limit=1"))[0] == 200
            assert (await person.call("POST", "/rest/v1/jobs", json={"target_url": "https://youtu.be/a"}))[0] == 403
            _, me = await person.call("GET", "/api/auth/me")
            assert (me["user"], me["issuer"]) == (
                {"id": "user_abc123", "role": "viewer"},
                "https://clerk.example.com",
            )
            status, body = await person.call("GET", "/api/auth/sessions")
            assert (status, body["error"]) == (403, "FOREIGN_ISSUER")
            person.token = token()
            assert (await person.call("GET", "/api/status"))[0] == 403
            person.token = token(role="viewer", exp=time.time() - 60)
            assert (await person.call("GET", "/api/status"))[1]["error"] == "TOKEN_EXPIRED"
            for bad in (token(stranger), token(aud="other"), token(iss="https://other.example.com")):
                person.token = bad
                assert (await person.call("GET", "/api/status"))[1]["error"] == "INVALID_TOKEN"


@pytest.mark.req("DI-06")
async def test_clerks_session_tokens_without_an_audience_are_let_in(start):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": "ins_1", "use": "sig"}

    def token(**claims):
        told = {
            "azp": "https://saju.example.com",
            "exp": time.time() + 60,
            "iat": time.time(),
            "iss": "https://clerk.example.com",
            "nbf": time.time() - 10,
            "sid": "sess_1",
            "sub": "user_abc123",
        }
        return jwt.encode(told | claims, key, algorithm="RS256", headers={"kid": "ins_1"})

    async with issuing(jwk) as url:
        platform = await start(
            DROVER_JWKS_URL=url,
            DROVER_JWT_ISSUER="https://clerk.example.com",
            DROVER_JWT_AUTHORIZED_PARTIES="https://saju.example.com",
        )
        async with browsing(platform) as person:
            person.token = token()
            _, me = await person.call("GET", "/api/auth/me")
            assert me["user"]["id"] == "user_abc123"
            person.token = token(azp="https://evil.example.com")
            assert (await person.call("GET", "/api/auth/me"))[1]["error"] == "INVALID_TOKEN"
            person.token = token(azp="https://evil.example.com", exp=time.time() - 60)
            status, body = await person.call("GET", "/api/auth/me")
            assert (status, body) == (401, {"error": "TOKEN_EXPIRED", "message": "Please refresh your token"})


@pytest.mark.req("SY-22")
async def test_the_doctor_goes_through_the_checklist_of_001(platform, http, tmp_path):
    where = ("--json", "--data-dir", platform.data_dir)
    code, said = await run_to_the_end("doctor", *where, output=tmp_path / "doctor.log")
    assert code == Exit.OK, said
    found = {line["check"]: line for line in json.loads(said)["checks"]}
    for check in (
        "cron secret",
        "cleanup",
        "cleanup endpoint",
        "cleanup time-out",
        "token checks",
        "sign-in",
        "HTTPS",
        "log level",
        "health endpoint",
    ):
        assert found[check]["verdict"] == "ok", found[check]
    assert "30 min" in found["cleanup time-out"]["found"]


async def test_accounts_are_kept_from_a_shell(platform, tmp_path):
    email = "from.a.shell@example.com"

    async def account(*arguments, stdin: str = ""):
        return await run_command("account", *arguments, "--data-dir", platform.data_dir, typed=stdin)

    code, account_id, _ = await account("add", email, "--role", "operator", "--password-stdin", stdin=PASSWORD + "\n")
    assert code == Exit.OK
    async with browsing(platform) as person:
        status, body = await person.sign_in(email, PASSWORD)
        assert (status, body["user"]["id"]) == (200, account_id.strip())
        code, _, said = await account("add", email, "--password-stdin", stdin=PASSWORD + "\n")
        assert code == Exit.FAILED
        assert "already" in said
        code, _, said = await account("add", "short@example.com", "--password-stdin", stdin="short\n")
        assert "at least 12 characters" in said
        assert (await account("disable", email))[0] == Exit.OK
        assert (await person.refresh())[0] == 401
        assert (await account("enable", account_id.strip()))[0] == Exit.OK
        assert (await account("password", email, "--password-stdin", stdin="quite another one\n"))[0] == Exit.OK
        assert (await account("role", email, "viewer"))[0] == Exit.OK
        status, body = await person.sign_in(email, "quite another one")
        assert (status, body["user"]["role"]) == (200, "viewer")
    assert (await account("disable", "nobody@example.com"))[0] == Exit.NOT_FOUND
    code, listed, _ = await account("list")
    assert email in listed
