"""Thirty seconds of silence, in real time. The clock runs since the shared platform has started (see conftest)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from drover.testing.waiting import eventually
from tests.e2e.conftest import BEATING, SILENT

LIMIT = timedelta(seconds=30)
LATEST = timedelta(seconds=36)
"""The limit, a sweep of a second, and a busy machine."""


@pytest.mark.slow
@pytest.mark.req("DF-04", "DF-25")
async def test_a_phone_that_falls_silent_goes_offline_and_one_that_beats_stays_online(http, two_phones):
    async def went_offline():
        return await http.rows("events", f"type=eq.DeviceWentOffline&entities=cs.{{{ids[SILENT]}}}")

    ids = {row["serial_number"]: row["id"] for row in await http.rows("devices", "select=id,serial_number")}
    (offline,) = await eventually(went_offline, within_s=LATEST.total_seconds(), every_s=0.2)
    (online,) = await http.rows("events", f"type=eq.DeviceCameOnline&entities=cs.{{{ids[SILENT]}}}")
    after = datetime.fromisoformat(offline["at"]) - datetime.fromisoformat(online["at"])
    assert LIMIT <= after < LATEST
    assert offline["by"] == "presence"
    assert await http.status_of(SILENT) == "offline"

    assert not two_phones.done(), "the other one beats"
    assert await http.status_of(BEATING) == "online"
    beats = [row["type"] for row in await http.rows("events", f"entities=cs.{{{ids[BEATING]}}}&order=n")]
    assert beats == ["DeviceRegistered", "DeviceCameOnline"], "it never was anything but online"
