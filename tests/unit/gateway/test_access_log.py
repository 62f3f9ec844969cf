"""Which requests of phones and offices have a line in the access log."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from drover.service import logging
from drover.web import access_log
from tests.unit.gateway.test_heartbeat import BODY, URL


@pytest.fixture
def lines(monkeypatch):
    monkeypatch.setattr(logging, "json_stream", None)
    monkeypatch.setattr(logging, "is_logged", lambda name: True)
    monkeypatch.setattr(access_log, "log", access_log.log.bind())
    with capture_logs() as captured:
        yield lambda: [(line["event"], line["method"], line["route"]) for line in captured if "route" in line]


@pytest.mark.req("SE-11")
async def test_heartbeats_and_empty_polls_have_no_line(world, lines):
    device_id = await world.phone()
    before = lines()
    assert (await world.client.patch(URL, json=BODY, headers=world.anon)).status == 204
    supabase = world.anon | {"Prefer": "return=representation"}
    answer = await world.client.patch(f"/rest/v1/devices?id=eq.{device_id}", json=BODY, headers=supabase)
    assert (answer.status, (await answer.json())[0]["id"]) == (200, device_id)
    assert await (await world.poll(device_id)).json() == []
    assert lines() == before


@pytest.mark.req("SE-11")
async def test_work_that_is_handed_out_reports_and_changes_of_the_office_have_a_line(world, lines):
    device_id = await world.phone()
    world.job()
    before = len(lines())
    (work,) = await (await world.poll(device_id)).json()
    assert (await world.report(work["id"], {"status": "running", "run": 1})).status == 204
    url = f"/rest/v1/devices?id=eq.{device_id}"
    assert (await world.client.patch(url, json={"group_id": "P1-G2"}, headers=world.service)).status < 300
    assert lines()[before:] == [
        ("request", "GET", "/rest/v1/job_assignments"),
        ("request", "PATCH", "/rest/v1/job_assignments"),
        ("request", "PATCH", "/rest/v1/devices"),
    ]
