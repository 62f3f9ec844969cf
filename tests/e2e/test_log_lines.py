"""What the platform writes with DROVER_LOG_FORMAT=plain: 001 §4.1, to the letter."""

from __future__ import annotations

import re

import pytest

from drover.testing.waiting import eventually
from tests.e2e.test_people import admin_of, browsing

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.mark.req("DI-20", "SY-18")
async def test_cleanups_and_refreshes_are_logged_as_001_writes_them(start):
    platform = await start(DROVER_LOG_FORMAT="plain")
    async with browsing(platform) as person:
        _, signed_in = await person.sign_in(*admin_of(platform))
        assert (await person.refresh())[0] == 200
        person.token = platform.credentials["cron_secret"]
        assert (await person.call("POST", "/api/system/cleanup-tests"))[0] == 200
    user_id = signed_in["user"]["id"]
    for line in (
        rf"\[INFO\] {TIME} auth: Token refreshed for user {user_id}",
        rf"\[INFO\] {TIME} cleanup-tests: No tests to cleanup",
    ):
        await eventually(lambda line=line: any(re.fullmatch(line, said) for said in platform.output.splitlines()))
