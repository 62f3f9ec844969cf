"""The farm's HTTP client: every failure is an answer, and the difference between two silences matters."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import web

from drover.agent import client as phone_client
from drover.agent.clock import Clock
from drover.agent.protocol import NO_ANSWER, NO_CONNECTION, Answer, Heartbeat, Report
from drover.simulator import http

from .conftest import device_id

BEAT = Heartbeat("online")


@pytest.mark.req("DF-12")
async def test_a_poll_gives_what_was_found_and_when_to_come_back(platform, client):
    work = platform.hand_out("S1", retry_count=2, run=5)
    found = await client.poll(device_id("S1"))
    assert (found.status, found.poll_after_s) == (200, 5)
    assert (found.offer.id, found.offer.run, found.offer.retry_count) == (work, 5, 2)
    assert (found.offer.job.target_url, found.offer.job.duration_min_pct) == ("https://youtu.be/simulated-0001", 100)
    empty = await client.poll(device_id("S2"))
    assert (empty.status, empty.poll_after_s, empty.offer) == (200, 5, None)


async def test_a_row_that_cannot_be_worked_on_is_no_answer(platform, client):
    platform.hand_out("S1", run="many")
    assert await client.poll(device_id("S1")) == NO_ANSWER


async def test_a_report_travels_with_dates_and_without_what_is_not_said(platform, client):
    clock = Clock()
    work = platform.hand_out("S1")
    assert (await client.report(Report(work, 1, "running", progress_pct=0, started_at=clock.now()), clock)).ok
    (heard,) = platform.reports
    assert heard.keys() == {"assignment_id", "status", "run", "progress_pct", "started_at", "answer"}
    assert heard["started_at"].endswith("Z")


async def test_a_refusal_says_its_code(platform, client):
    work = platform.hand_out("S1", run=2)
    stale = await client.report(Report(work, 1, "failed", error_code="E4001"), Clock())
    assert (stale.status, stale.code, stale.stale, stale.refused) == (409, "STALE_ATTEMPT", True, True)
    platform.refuse = lambda request: web.Response(status=502, text="<html>")
    assert await client.report(Report(work, 1, "failed", error_code="E4001"), Clock()) == Answer(502)


async def test_somebody_who_says_nothing_is_not_nobody(platform, client, monkeypatch):
    monkeypatch.setitem(phone_client._TIMED, phone_client.HEARTBEAT_S, aiohttp.ClientTimeout(total=0.05))
    go_on = asyncio.Event()
    platform.delay = go_on.wait
    assert await client.heartbeat("S1", BEAT) == NO_ANSWER
    go_on.set()
    async with http.connect("http://127.0.0.1:1", "a", "s") as to_nobody:
        assert await to_nobody.heartbeat("S1", BEAT) == NO_CONNECTION
        assert await to_nobody.dial() == (NO_CONNECTION, None)


async def test_a_socket_that_is_refused_is_an_answer_too(platform, client):
    platform.refuse = lambda request: web.Response(status=429, headers={"Retry-After": "7"})
    assert await client.dial() == (Answer(429, 7), None)
