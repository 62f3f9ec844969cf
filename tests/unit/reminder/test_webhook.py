"""The provider webhook: what is posted, and what its answers mean."""

import asyncio
import re
import time
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from drover.outbound.http import Outbound
from drover.outbound.signing import TOLERANCE_S, sign, verify
from drover.reminder.notification import Delivered, Failed, Uncertain
from drover.reminder.providers.webhook import Webhook
from tests.unit.outbound.test_http import server
from tests.unit.reminder.world import notification

SECRET = "a secret that the receiver knows, too"
OTHER = "another secret which is on its way in"


async def post(handler, *, secrets=(SECRET,), timeout_s=5.0, **fields):
    async with server(handler) as port:
        hook = Webhook(f"http://127.0.0.1:{port}/hook", secrets, Outbound(timeout_s=timeout_s, allow_private=True))
        async with hook.running():
            return await hook.send(notification(**fields))


@pytest.mark.req("RM-10", "RM-11")
async def test_the_receiver_gets_key_text_and_a_signature_that_it_can_check():
    seen = {}

    async def handler(request):
        seen.update(request.headers, raw=await request.read(), path=request.path)
        return web.json_response({"id": "theirs-7"})

    outcome = await post(handler, secrets=(SECRET, OTHER))
    assert outcome == Delivered(notification_id="theirs-7")
    assert seen["Idempotency-Key"] == "page-1:1"
    assert seen["Content-Type"] == "application/json"
    assert msgspec.json.decode(seen["raw"]) == {
        "key": "page-1:1",
        "page_id": "page-1",
        "user_id": "user_1",
        "title": "제목",
        "body": "본문",
        "sent_count": 1,
    }
    for secret in (SECRET, OTHER):
        assert verify(seen["Drover-Signature"], seen["raw"], secret, time.time())


@pytest.mark.parametrize("answer", [b"", b"ok", b"[1]", b'{"id": null}', b'{"id": ""}', b"\xff"])
async def test_without_an_id_of_theirs_ours_is_kept(answer):
    async def handler(request):
        return web.Response(body=answer)

    assert await post(handler) == Delivered(notification_id="page-1:1")


@pytest.mark.req("RM-07", "RM-11")
@pytest.mark.parametrize(
    ("status", "permanent"),
    [
        (300, True),
        (302, True),
        (400, True),
        (410, True),
        (408, False),
        (409, False),
        (429, False),
        (500, False),
        (503, False),
    ],
)
async def test_what_may_pass_is_told_from_what_will_not(status, permanent):
    async def handler(request):
        return web.Response(status=status, text="why")

    outcome = await post(handler)
    assert outcome == Failed(permanent=permanent, code=f"http_{status}", error="why")


@pytest.mark.req("RM-07", "RM-11")
@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_receiver_that_refuses_us_or_is_not_there_is_tried_for_a_day(status):
    async def handler(request):
        return web.Response(status=status, text="why")

    outcome = await post(handler)
    assert outcome == Failed(permanent=False, code=f"http_{status}", error="why", only_for_a_day=True)


@pytest.mark.req("RM-07")
async def test_an_answer_that_is_late_is_an_unknown_outcome():
    async def handler(request):
        await asyncio.sleep(30)

    outcome = await post(handler, timeout_s=0.2)
    assert isinstance(outcome, Uncertain)
    assert outcome.code == "timed_out"


@pytest.mark.req("RM-10")
async def test_a_connection_that_breaks_is_tried_once_more_with_the_same_key():
    keys = []

    async def handler(request):
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            request.transport.abort()
        return web.Response()

    assert isinstance(await post(handler), Delivered)
    assert keys == ["page-1:1", "page-1:1"]


async def test_a_connection_that_breaks_twice_is_an_unknown_outcome():
    async def handler(request):
        request.transport.abort()
        return web.Response()

    assert (await post(handler)).code == "connection_lost"


def test_the_sample_of_the_docs_checks_signatures():
    text = (Path(__file__).parents[3] / "docs" / "reminders.md").read_text(encoding="utf-8")
    sample: dict = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), sample)
    check, now = sample["is_from_drover"], int(time.time())
    assert check(sign(b"body", [SECRET, OTHER], now), b"body", OTHER)
    assert not check(sign(b"body", [SECRET], now), b"body", OTHER)
    assert not check(sign(b"body", [SECRET], now), b"other", SECRET)
    assert not check(sign(b"body", [SECRET], now - 301), b"body", SECRET)


def test_a_signature_holds_for_its_body_its_secret_and_its_time_only():
    header = sign(b"body", [SECRET], 1_000_000)
    assert header.startswith("t=1000000,v1=")
    assert verify(header, b"body", SECRET, 1_000_000 + TOLERANCE_S)
    assert not verify(header, b"body", SECRET, 1_000_001 + TOLERANCE_S)
    assert not verify(header, b"body", SECRET, 999_999 - TOLERANCE_S)
    assert not verify(header, b"bodY", SECRET, 1_000_000)
    assert not verify(header, b"body", OTHER, 1_000_000)
    assert not verify(header.replace("t=1000000", "t=1000001"), b"body", SECRET, 1_000_000)


@pytest.mark.parametrize("header", ["", "t=1", "v1=ab", "t=x,v1=ab", "t=１,v1=ab", "t=1,t=2,v1=ab", "t=1,v1=가"])
def test_a_header_that_is_none_is_no_signature_and_no_error(header):
    assert not verify(header, b"body", SECRET, 1)
