"""Through the door, and out again: what people read there, and what becomes of a token that is too old."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from playwright.async_api import Route, expect

from drover.service.access_tokens import issue_access_token
from drover.service.api_keys import Role
from drover.service.identity_keys import IdentityKeys
from drover.testing.waiting import eventually
from tests.browser.person import admin_of

pytestmark = pytest.mark.asyncio(loop_scope="package")

EXPIRED = "세션이 만료되었습니다. 다시 로그인해주세요."
CALLS = 5


async def test_who_signs_in_comes_to_where_they_wanted_to_go(person, platform):
    await person.open("/queue?q=wanted")
    await expect(person.heading("Drover")).to_be_visible()
    await person.fill_in(*admin_of(platform))
    await expect(person.heading("Queue")).to_be_visible()
    assert person.page.url == f"{platform.url}/queue?q=wanted"
    await person.is_live()


async def test_a_wrong_password_is_told_with_what_to_do(person, platform):
    await person.open("/")
    await person.fill_in(admin_of(platform)[0], "wrong wrong wrong")
    alert = person.page.get_by_role("alert")
    await expect(alert).to_have_text(
        "E-mail or password is wrong. Check both; an administrator can give you a new password."
    )
    await expect(person.page.get_by_text("credentials.json")).to_be_visible()
    await person.fill_in(*admin_of(platform))
    await expect(person.heading("Overview")).to_be_visible()


async def test_signing_out_says_so_and_takes_the_other_tab_along(admin, platform):
    await admin.open("/fleet")
    await admin.is_live()
    other_tab = await admin.context.new_page()
    await other_tab.goto(f"{platform.url}/queue")
    await expect(other_tab.get_by_role("heading", name="Queue", exact=True)).to_be_visible()

    await admin.button("Signed in as", exact=False).click()
    await admin.page.get_by_role("menuitem", name="Sign out").click()
    await expect(admin.button("Sign in")).to_be_visible()
    await expect(admin.page.get_by_role("log")).to_contain_text("You are signed out.")
    await expect(other_tab.get_by_role("button", name="Sign in")).to_be_visible()
    await admin.open("/fleet")
    await expect(admin.button("Sign in")).to_be_visible()  # the cookie is gone, too


@pytest.mark.req("SY-10", "SY-13")
async def test_a_session_that_is_ended_elsewhere_says_why_it_is_over(admin, another, platform):
    await admin.open("/fleet")
    await admin.is_live()
    elsewhere = await another(*admin_of(platform))
    await elsewhere.open("/")
    await elsewhere.button("Signed in as", exact=False).click()
    await elsewhere.page.get_by_role("menuitem", name="Your sessions").click()
    await elsewhere.button("Sign out all others").click()

    await expect(admin.button("Sign in")).to_be_visible()
    assert admin.page.url == f"{platform.url}/sign-in?error=session_expired"
    await expect(admin.page.get_by_role("alert").first).to_contain_text(EXPIRED)
    await expect(elsewhere.page.get_by_role("dialog", name="Your sessions")).to_contain_text("current")
    await admin.fill_in(*admin_of(platform))
    await expect(admin.heading("Fleet")).to_be_visible()  # back to where they were


@pytest.mark.req("SY-10")
async def test_five_calls_with_an_expired_token_cause_one_refresh(person, platform):
    """The server says that the token is too old, to each of five at once, and the page renews it once for all."""
    expired = _expired(platform, await person.sign_in(*admin_of(platform)))
    sent: list[str] = []
    all_sent = asyncio.Event()
    answers: list[tuple[str, int]] = []
    person.page.on("response", lambda answer: answers.append((answer.url, answer.status)))

    async def send_an_old_one(route: Route) -> None:
        """Each of five waits for the others: none has been answered before the last one was sent."""
        if len(sent) == CALLS:
            return await route.fallback()
        sent.append(route.request.url)
        if len(sent) == CALLS:
            all_sent.set()
        await all_sent.wait()
        return await route.continue_(headers=route.request.headers | {"authorization": f"Bearer {expired}"})

    await person.page.route("**/rest/v1/**", send_an_old_one)
    await person.open("/")
    await person.is_live()

    # Some of the five are for the page itself, which is live without them.
    await eventually(lambda: set(sent) <= {url for url, status in answers if status == 200})
    assert sorted(url for url, status in answers if status == 401) == sorted(sent), "the server refused all five"
    assert person.refreshes == 2, "once as the page began, once for all five"


def _expired(platform, session) -> str:
    """As the server would have issued it an hour ago, to the same person and session."""
    keys = IdentityKeys([json.loads((platform.data_dir / "secrets.json").read_text())["identity_secret"]])
    return issue_access_token(
        keys,
        account_id=session["user"]["id"],
        session_id=session["session"]["id"],
        role=Role(session["user"]["role"]),
        now_s=time.time() - 3600,
        lifetime_s=900,
    )
