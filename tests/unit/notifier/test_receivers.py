"""What Slack and the webhook are told, and what their answers mean."""

from __future__ import annotations

import json
import re
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from drover.notifier.notice import Delivered, Failed, Notice, Uncertain
from drover.notifier.receivers.answers import outcome_of
from drover.notifier.receivers.choice import ReceiverIncomplete, chosen_receivers
from drover.notifier.receivers.slack import DETAILS_MAX, HEADER_CHARS_MAX, TEXT_CHARS_MAX, Slack, message_of
from drover.notifier.receivers.webhook import Webhook
from drover.notifier.settings import AlertSettings
from drover.outbound.http import Answer, Outbound
from drover.outbound.signing import sign, verify
from drover.service.config import ConfigurationError
from tests.settings import load
from tests.unit.outbound.test_http import server

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
SECRET, OTHER = "s" * 32, "o" * 32
NEEDED = {"DROVER_NATS_URL": "nats://x", "DROVER_POSTGRES_URL": "postgresql://x", "DROVER_JWT_SECRETS": "j" * 32}
SLACK = "https://hooks.slack.com/services/T000/B000/SECRETPATH"


def notice(**changed) -> Notice:
    fields = {
        "context": "fleet",
        "alert_id": "019a8b3c-0000-7000-8000-0000000000e1",
        "phase": "raised",
        "kind": "host_failing",
        "subject": "PC-01",
        "at": NOON,
        "message": "All phones of PC-01 fail",
        "details": {"devices": ["D1"], "pc_id": "PC-01", "count": 20},
        "until": NOON + timedelta(minutes=30),
    }
    return Notice(**fields | changed)


def over(**changed) -> Notice:
    at = NOON + timedelta(minutes=9)
    return notice(phase="resolved", at=at, raised_at=NOON, reason="recovered", details={}, until=None, **changed)


def texts(message) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


@asynccontextmanager
async def receiving(status=200, headers=None):
    seen = []

    async def take(request):
        seen.append((request.headers, await request.read()))
        return web.Response(status=status, text="no_service", headers=headers)

    async with server(take) as port:
        yield f"http://127.0.0.1:{port}/hook", seen


async def sent(receiver, told, *, repeat=False):
    async with receiver.running():
        return await receiver.send(told, repeat=repeat)


def outbound(**options) -> Outbound:
    return Outbound(timeout_s=5.0, **{"allow_private": True} | options)


async def test_the_webhook_gets_everything_signed_and_with_its_key():
    async with receiving() as (url, seen):
        assert await sent(Webhook(url, [SECRET, OTHER], outbound()), notice()) == Delivered()
    ((headers, raw),) = seen
    for secret in (SECRET, OTHER):
        assert verify(headers["Drover-Signature"], raw, secret, time.time())
    assert not verify(headers["Drover-Signature"], raw + b" ", SECRET, time.time())
    assert headers["Idempotency-Key"] == "fleet.019a8b3c-0000-7000-8000-0000000000e1.raised"
    assert "Drover-Repeat" not in headers
    assert json.loads(raw) == {
        "key": "fleet.019a8b3c-0000-7000-8000-0000000000e1.raised",
        "event": "alert.raised",
        "context": "fleet",
        "alert_id": "019a8b3c-0000-7000-8000-0000000000e1",
        "kind": "host_failing",
        "severity": "critical",
        "subject": "PC-01",
        "message": "All phones of PC-01 fail",
        "at": "2026-11-16T12:00:00Z",
        "details": {"devices": ["D1"], "pc_id": "PC-01", "count": 20},
        "until": "2026-11-16T12:30:00Z",
    }


async def test_a_repeat_has_the_same_bytes_and_says_in_its_header_that_it_is_one():
    async with receiving() as (url, seen):
        hook = Webhook(url, [SECRET], outbound())
        await sent(hook, over())
        await sent(hook, over(), repeat=True)
    (_, first), (headers, second) = seen
    assert first == second
    assert headers["Drover-Repeat"] == "1"
    body = json.loads(first)
    assert (body["event"], body["reason"], body["raised_at"]) == ("alert.resolved", "recovered", "2026-11-16T12:00:00Z")


async def test_slack_gets_blocks_and_a_text_for_where_there_are_none():
    async with receiving() as (url, seen):
        assert await sent(Slack(url, outbound()), notice()) == Delivered()
    message = json.loads(seen[0][1])
    assert [block["type"] for block in message["blocks"]] == ["header", "section", "section", "context"]
    assert message["text"] == "🔴 Host failing: All phones of PC-01 fail"
    for part in (
        "🔴 Host failing",
        "All phones of PC-01 fail",
        "pc_id: PC-01",
        "count: 20",
        "fleet · PC-01 · alert 019a8b3c",
    ):
        assert part in texts(message)
    assert "until 2026-11-16 12:30:00 UTC" in texts(message)


def test_the_message_that_it_is_over_names_the_one_that_it_was_raised_by():
    message = message_of(over())
    assert "✅ Over: host failing" in texts(message)
    assert "All phones of PC-01 fail" in texts(message)
    assert "alert 019a8b3c" in texts(message)
    assert "from 2026-11-16 12:00:00 UTC · to 2026-11-16 12:09:00 UTC · because of recovered" in texts(message)


def test_a_warning_looks_like_one_and_a_repeat_says_that_it_may_be_one():
    assert "🟠 Rate limited" in texts(message_of(notice(kind="rate_limited")))
    assert "may be a duplicate" in texts(message_of(notice(), repeat=True))
    assert "may be a duplicate" not in texts(message_of(notice()))


def test_what_users_wrote_calls_nobody_and_fits():
    evil = "<!channel> <https://evil.example|click> & *bold* " + "x" * 5000
    message = message_of(notice(message=evil, kind="k" * 500, details={f"d{n}": evil for n in range(50)}))
    assert "<!channel>" not in message["text"] and "&lt;!channel&gt;" in message["text"]
    flat = [part for block in message["blocks"] for part in _texts(block)]
    assert {part["type"] for part in flat} == {"plain_text"}
    assert len(flat[0]["text"]) == HEADER_CHARS_MAX
    assert max(len(part["text"]) for part in flat) <= TEXT_CHARS_MAX
    assert len(message["blocks"][2]["fields"]) == DETAILS_MAX


def _texts(block):
    return [block["text"]] if "text" in block else [*block.get("fields", []), *block.get("elements", [])]


@pytest.mark.parametrize(
    ("status", "headers", "outcome"),
    [
        (204, {}, Delivered()),
        (400, {}, Failed("http_400", permanent=True)),
        (413, {}, Failed("http_413", permanent=True)),
        (404, {}, Failed("http_404")),
        (401, {}, Failed("http_401")),
        (403, {}, Failed("http_403")),
        (302, {"Location": "http://elsewhere"}, Failed("http_302")),
        (500, {"Retry-After": "7"}, Failed("http_500")),
        (429, {"Retry-After": "7"}, Failed("http_429", retry_after_s=7.0)),
        (503, {"Retry-After": "Mon, 16 Nov 2026 12:01:00 GMT"}, Failed("http_503", retry_after_s=60.0)),
        (503, {"Retry-After": "Mon, 16 Nov 2026 11:00:00 GMT"}, Failed("http_503", retry_after_s=0.0)),
        (429, {"Retry-After": "soon"}, Failed("http_429")),
        (429, {"Retry-After": "-1"}, Failed("http_429")),
        (429, {}, Failed("http_429")),
    ],
)
def test_what_an_answer_means(status, headers, outcome):
    assert outcome_of(Answer(status, headers, b"whatever"), NOON) == outcome


async def test_nobody_there_is_a_failure_and_no_answer_is_a_doubt():
    assert await sent(Slack("http://127.0.0.1:9/x", outbound()), notice()) == Failed("connect_failed")

    async def hang_up(request):
        request.transport.close()

    async with server(hang_up) as port:
        outcome = await sent(Slack(f"http://127.0.0.1:{port}/x", outbound()), notice())
    assert isinstance(outcome, Uncertain)


async def test_an_address_inside_is_not_called_unless_that_is_allowed():
    async with receiving() as (url, seen):
        assert await sent(Slack(url, outbound(allow_private=False)), notice()) == Failed("address_refused")
    assert seen == []


async def test_nothing_of_the_address_is_in_a_log_whatever_it_answers():
    with capture_logs() as logs:
        async with receiving(status=404) as (url, _):
            outcome = await sent(Slack(f"{url}/SECRETPATH", outbound()), notice())
        await sent(Slack("http://[bad/SECRETPATH", outbound()), notice())
    assert outcome == Failed("http_404")
    assert "SECRETPATH" not in repr(logs) + repr(outcome)


def test_settings_choose_receivers_and_a_webhook_needs_a_secret():
    assert chosen_receivers(load(NEEDED, AlertSettings)) == []
    hook = {"DROVER_ALERT_WEBHOOK_URL": "http://ops.example.com/hook"}
    both = {**NEEDED, "DROVER_ALERT_SLACK_URL": SLACK, **hook, "DROVER_ALERT_WEBHOOK_SECRETS": f"{SECRET},{OTHER}"}
    assert [one.name for one in chosen_receivers(load(both, AlertSettings))] == ["slack", "webhook"]
    with pytest.raises(ReceiverIncomplete, match="DROVER_ALERT_WEBHOOK_SECRETS"):
        chosen_receivers(load({**NEEDED, **hook}, AlertSettings))


def test_the_address_of_slack_is_a_secret():
    told = {"DROVER_ALERT_SLACK_URL": SLACK, "DROVER_ALERT_WEBHOOK_URL": "http://x/SECRETPATH"}
    settings = load(NEEDED | told, AlertSettings)
    assert "SECRETPATH" not in repr(settings)
    with pytest.raises(ConfigurationError) as refused:
        load({**NEEDED, "DROVER_ALERT_SLACK_URL": "http://hooks.slack.com/SECRETPATH"})
    assert "SECRETPATH" not in str(refused.value) and "DROVER_ALERT_SLACK_URL" in str(refused.value)


def test_the_sample_of_the_docs_checks_signatures():
    text = (Path(__file__).parents[3] / "docs" / "alerts.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(sample, names)
    now_s, check = int(time.time()), names["is_from_drover"]
    assert check(sign(b"{}", [OTHER, SECRET], now_s), b"{}", SECRET)
    assert not check(sign(b"{}", [OTHER], now_s), b"{}", SECRET)
    assert not check(sign(b"{}", [SECRET], now_s), b"{ }", SECRET)
    assert not check(sign(b"{}", [SECRET], now_s - 400), b"{}", SECRET)
