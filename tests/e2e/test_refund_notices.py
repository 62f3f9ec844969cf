"""A user whose tests a cleanup has given back is told once, through the provider of reminders, also after a crash."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from aiohttp import web

from drover.testing.waiting import eventually

TOLD_S = 60.0
SETTINGS = {
    "DROVER_REMINDER_PROVIDER": "webhook",
    "DROVER_REMINDER_ALLOW_PRIVATE": "1",
    "DROVER_REMINDER_WEBHOOK_SECRETS": "what the receiver checks signatures with",
    "DROVER_REMINDER_REFUND_BODY": "{tests} given back",
    "DROVER_CLEANUP_CRON": "0 0 1 1 *",
}


@pytest.fixture
async def inbox():
    """What was posted, in order."""
    posted: list[dict] = []

    async def take(request: web.Request) -> web.Response:
        posted.append(await request.json() | {"header": request.headers["Idempotency-Key"]})
        return web.json_response({})

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield posted, f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    await runner.cleanup()


async def stall_and_clean(platform, user: str, tests: int) -> None:
    began = (datetime.now(UTC) - timedelta(minutes=35)).isoformat()
    async with platform.calling() as http:
        assert (await http.call("POST", "/rest/v1/users", json={"id": user, "remaining_tests": 1})).status == 201
        rows = [{"id": str(uuid4()), "user_id": user, "created_at": began} for _ in range(tests)]
        assert (await http.call("POST", "/rest/v1/saju_tests", json=rows)).status == 201
        secret = {"X-Cron-Secret": platform.credentials["cron_secret"]}
        cleaned = await http.call("POST", "/api/system/cleanup-tests", headers=secret)
        assert (cleaned.status, cleaned.json["cleaned_count"]) == (200, tests)


@pytest.mark.timeout(240)
@pytest.mark.req("SY-16")
async def test_a_cleaned_user_is_told_once_and_not_again_after_a_crash(start, inbox):
    posted, url = inbox
    settings = SETTINGS | {"DROVER_REMINDER_WEBHOOK_URL": url}
    platform = await start(**settings)
    await stall_and_clean(platform, "user_ann", 3)
    await eventually(lambda: posted, TOLD_S)
    (told,) = posted
    assert (told["user_id"], told["body"]) == ("user_ann", "3 given back")
    assert told["header"] == told["key"] == f"{told['page_id']}:1"
    assert told["page_id"].startswith("cleanup:")

    async with platform.calling() as http:

        async def is_over():
            return await http.rows("alarm") == []

        await eventually(is_over, TOLD_S)
    platform.send(signal.SIGKILL)
    await platform.ended()

    platform = await start(**settings)
    await stall_and_clean(platform, "user_ben", 1)
    await eventually(lambda: len(posted) > 1, TOLD_S)  # the log is read in order: user_ann's request came before
    assert [told["user_id"] for told in posted] == ["user_ann", "user_ben"]


@pytest.mark.timeout(240)
@pytest.mark.req("SY-16")
async def test_notices_can_be_switched_off(start, inbox):
    posted, url = inbox
    platform = await start(**SETTINGS, DROVER_REMINDER_WEBHOOK_URL=url, DROVER_CLEANUP_NOTIFIES="0")
    await stall_and_clean(platform, "user_ann", 1)
    async with platform.calling() as http:
        reminder = {"user_id": "user_ann", "page_id": "p1", "title": "t", "body": "b"}
        assert (await http.call("POST", "/api/reminder/register-by-page", json=reminder)).status == 201
        await eventually(lambda: posted, TOLD_S)
        assert [told["page_id"] for told in posted] == ["p1"]
        assert await http.rows("events", "type=eq.UserNotificationRequested") == []
