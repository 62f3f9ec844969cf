"""The doctor's part of the users' deployment checklist: what it finds wrong, and what it says to do about it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from drover.cli.checks import checklist, reminders
from drover.cli.checks.finding import Scene, Verdict
from drover.cli.errors import ServerDown
from drover.cli.target import ENVIRONMENT, Target

AWAY = ServerDown("127.0.0.1:1", "nobody there", "the environment", "start it")
ENVIRON = {
    "DROVER_NATS_URL": "nats://n",
    "DROVER_POSTGRES_URL": "postgresql://p",
    "DROVER_JWT_SECRETS": "s" * 32,
}
KEY = "k1:" + "A" * 43 + "="


def scene(port: int = 0, source: str = ENVIRONMENT, **environ: str) -> Scene:
    target = Target(
        source=source,
        nats="nats://n",
        nats_system_url=None,
        postgres="postgresql://p",
        http_host="127.0.0.1",
        http_port=port,
    )
    return Scene(data_dir=Path("."), environ=ENVIRON | environ, target=target, nats=AWAY, postgres=AWAY)


@asynccontextmanager
async def answering(**routes: tuple[int, dict]):
    """A server at which these paths answer so; underscores stand for slashes."""
    app = web.Application()
    for name, (status, body) in routes.items():

        async def answer(request, status=status, body=body):
            return web.json_response(body, status=status)

        app.router.add_route("*", "/api/" + name.replace("__", "-").replace("_", "/"), answer)

    async def nothing(request):
        return web.json_response({"error": "NOT_FOUND"}, status=404)

    app.router.add_route("*", "/{path:.*}", nothing)
    async with TestServer(app) as server:
        yield server.port


@pytest.mark.req("SY-22")
@pytest.mark.parametrize(
    ("check", "environ", "verdict", "remedy"),
    [
        (checklist.cron_secret, {}, "warn", "DROVER_CRON_SECRETS="),
        (checklist.cron_secret, {"CRON_SECRET": "x" * 40}, "ok", ""),
        (checklist.cron_secret, {"DROVER_CRON_SECRETS": "x" * 40}, "ok", ""),
        (checklist.cleanup_timeout, {}, "ok", ""),
        (checklist.cleanup_timeout, {"DROVER_CLEANUP_TIMEOUT_S": "3600"}, "warn", "30 min"),
        (checklist.log_level, {}, "ok", ""),
        (checklist.log_level, {"DROVER_LOG_LEVEL": "error"}, "warn", "DROVER_LOG_LEVEL=info"),
        (checklist.people_can_sign_in, {}, "warn", "drover account add"),
        (checklist.people_can_sign_in, {"DROVER_SEALING_KEYS": KEY}, "fail", "DROVER_IDENTITY_SECRETS"),
        (checklist.people_can_sign_in, {"DROVER_IDENTITY_SECRETS": "i" * 32}, "fail", "DROVER_SEALING_KEYS"),
        (
            checklist.people_can_sign_in,
            {"DROVER_IDENTITY_SECRETS": "i" * 32, "DROVER_SEALING_KEYS": KEY},
            "ok",
            "",
        ),
        (checklist.https_beyond_here, {}, "ok", ""),
        (checklist.https_beyond_here, {"DROVER_HTTP_HOST": "0.0.0.0"}, "warn", "DROVER_TRUSTED_PROXIES"),
        (
            checklist.https_beyond_here,
            {"DROVER_HTTP_HOST": "0.0.0.0", "DROVER_TRUSTED_PROXIES": "10.0.0.1"},
            "ok",
            "",
        ),
        (
            checklist.https_beyond_here,
            {"DROVER_HTTP_HOST": "0.0.0.0", "DROVER_TLS_CERT": "/tls.crt", "DROVER_TLS_KEY": "/tls.key"},
            "ok",
            "",
        ),
        (
            checklist.https_beyond_here,
            {"DROVER_HTTP_HOST": "0.0.0.0", "DROVER_PLAIN_HTTP_FROM": "192.168.7.0/24"},
            "warn",
            "DROVER_PLAIN_HTTP_FROM",
        ),
        (checklist.issuer_has_keys, {}, "skipped", ""),
        (
            checklist.issuer_has_keys,
            {
                "DROVER_JWKS_URL": "http://127.0.0.1:1/jwks",
                "DROVER_JWT_ISSUER": "https://i.example.com",
                "DROVER_JWT_AUDIENCE": "a",
            },
            "fail",
            "DROVER_JWKS_URL",
        ),
        (checklist.log_level, {"DROVER_NONSENSE": "1"}, "skipped", "Correct the configuration"),
        (checklist.cleanup_is_scheduled, {}, "skipped", ""),
    ],
)
async def test_settings_are_judged(check, environ, verdict, remedy):
    finding = await check(scene(**environ))
    assert (finding.verdict, remedy in finding.remedy) == (verdict, True), finding
    assert "AAAA" not in finding.found + finding.remedy


@pytest.mark.req("DI-04")
@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, "sent by the provider log"),
        ({"DROVER_REMINDER_SENDS": "0"}, "Drover sends none (DROVER_REMINDER_SENDS=0); a sender of your own has to"),
    ],
)
async def test_it_says_who_sends_reminders(environ, found):
    finding = await reminders.reminders_are_sent(scene(**environ))
    assert (finding.verdict, finding.found) == (Verdict.OK, found)


@pytest.mark.req("SY-22")
async def test_a_platform_that_answers_as_it_should_passes():
    async with answering(
        system_cleanup__tests=(401, {"error": "UNAUTHORIZED"}),
        system_health=(200, {"status": "healthy", "services": {"database": "connected"}}),
    ) as port:
        assert (await checklist.cleanup_answers(scene(port))).verdict is Verdict.OK
        healthy = await checklist.health_answers(scene(port))
        assert (healthy.verdict, "database: connected" in healthy.found) == (Verdict.OK, True)


@pytest.mark.req("SY-22")
async def test_doors_that_stand_open_are_found():
    async with answering(
        system_cleanup__tests=(200, {"cleaned_count": 0}),
        status=(200, {"nats": "connected"}),
        system_health=(503, {"status": "unhealthy", "services": {"database": "error"}}),
    ) as port:
        assert (await checklist.cleanup_answers(scene(port))).verdict is Verdict.FAIL
        assert (await checklist.tokens_are_checked(scene(port))).verdict is Verdict.FAIL
        assert (await checklist.health_answers(scene(port))).verdict is Verdict.WARN


async def test_what_is_not_served_here_is_said():
    async with answering() as port:
        for check in (checklist.cleanup_answers, checklist.tokens_are_checked, checklist.health_answers):
            finding = await check(scene(port))
            assert (finding.verdict, "drover serve" in finding.remedy) == (Verdict.WARN, True)


async def test_where_nothing_answers_nothing_is_blamed():
    for check in (checklist.cleanup_answers, checklist.tokens_are_checked, checklist.health_answers):
        assert (await check(scene(port=1))).verdict is Verdict.SKIPPED
    for check in (checklist.cron_secret, checklist.people_can_sign_in):
        assert (await check(scene(source=".drover/credentials.json"))).verdict is Verdict.OK
