"""What must never be in a log: tokens, passwords, addresses. Looked for in every line, at the lowest level."""

from __future__ import annotations

import io
import logging

import pytest
import structlog

from drover.service import logging as drover_logging
from tests.unit.api.identity.conftest import EMAIL, FETCH, PASSWORD, bearer

NEW = {"email": "lee.minsu@example.com", "password": "a password of his own"}


@pytest.fixture(params=["as it is written", "before anything is hidden"])
def everything_logged(request, monkeypatch):
    """All that is logged, by whomever. Also without the last line of defence, which hides what looks like a secret."""
    if request.param != "as it is written":
        monkeypatch.setattr(drover_logging, "hide_secrets", lambda logger, method, event: event)
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.handlers, root.level
    drover_logging.configure("json", "debug", stream=stream)
    logging.getLogger("aiohttp.server").setLevel(logging.DEBUG)
    yield stream
    root.handlers, root.level = before
    structlog.reset_defaults()


@pytest.mark.req("SY-15")
async def test_no_token_password_or_address_is_logged_whatever_happens(world, everything_logged):
    secrets = [PASSWORD, EMAIL, EMAIL.partition("@")[0], NEW["email"], NEW["password"], "a wrong password"]
    # All goes well.
    signed_in = await world.signed_in()
    secrets += [signed_in["access_token"], world.cookie()]
    refreshed = await (await world.refresh()).json()
    secrets += [refreshed["access_token"], world.cookie()]
    session = await (await world.token("password", email=EMAIL, password=PASSWORD)).json()
    secrets += [session["access_token"], session["refresh_token"]]
    admin = bearer(refreshed)
    made = await (await world.client.post("/api/accounts", json=NEW, headers=admin)).json()
    await world.client.patch(f"/api/accounts/{made['id']}", json={"password": NEW["password"] * 2}, headers=admin)
    # All goes wrong.
    await world.sign_in(EMAIL, "a wrong password")
    await world.sign_in("nobody.atall@example.com", "a wrong password")
    secrets.append("nobody.atall@example.com")
    world.after(seconds=11)
    await world.token("refresh_token", refresh_token=session["refresh_token"])
    await world.token("refresh_token", refresh_token=session["refresh_token"] + "x")
    await world.client.post("/api/accounts", json=NEW, headers=admin)
    await world.client.post("/api/auth/sign-in", data=f'{{"email": "{EMAIL}", "password"', headers=FETCH)
    await world.client.get("/api/auth/me", headers={"Authorization": f"Bearer {session['access_token'][:-3]}"})

    # And something breaks inside.
    async def broken(*args, **about):
        raise RuntimeError("the bus broke")

    world.bus.send = broken
    assert (await world.sign_in()).status == 500
    assert (await world.token("refresh_token", refresh_token=session["refresh_token"])).status == 500

    logged = everything_logged.getvalue()
    assert "the bus broke" in logged, "the log was there to be searched"
    assert world.kim in logged, "user ids are told"
    for secret in secrets:
        assert secret not in logged
        assert secret.lower() not in logged.lower()


@pytest.mark.control
async def test_a_careless_line_would_be_found_and_the_last_line_of_defence_hides_it(everything_logged):
    logging.getLogger("careless").debug("signing in %s", EMAIL)
    hidden = drover_logging.hide_secrets.__name__ == "hide_secrets"
    assert (EMAIL in everything_logged.getvalue()) is not hidden
