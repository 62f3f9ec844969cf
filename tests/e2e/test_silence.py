"""Thirty seconds of silence, in real time. The clock runs since the shared platform has started (see conftest)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from drover.testing.waiting import eventually
from tests.e2e.client import device
from tests.e2e.conftest import BEATING, SILENT

LIMIT = timedelta(seconds=30)
LATEST = timedelta(seconds=50)
"""The limit, a sweep of a second, and a busy machine. A phone at work would be given 60 s."""
SEEN_S = 60.0
"""For the event to be in the read model. How late the platform was is judged by the event itself."""


@pytest.mark.slow
@pytest.mark.req("DF-04", "DF-25")
async def test_a_phone_that_falls_silent_goes_offline_and_one_that_beats_stays_online(http, two_phones):
    async def went_offline():
        return await http.rows("events", f"type=eq.DeviceWentOffline&entities=cs.{{{ids[SILENT]}}}")

    ids = {row["serial_number"]: row["id"] for row in await http.rows("devices", "select=id,serial_number")}
    (offline,) = await eventually(went_offline, within_s=SEEN_S, every_s=0.2)
    # The time that counts is when it was heard: that it came online is decided, and recorded, a little later.
    after = datetime.fromisoformat(offline["at"]) - datetime.fromisoformat(offline["data"]["last_seen"])
    assert LIMIT <= after < LATEST
    assert offline["by"] == "presence"
    assert await http.status_of(SILENT) == "offline"

    assert not two_phones.done(), "the other one beats"
    assert await http.status_of(BEATING) == "online"
    beats = [row["type"] for row in await http.rows("events", f"entities=cs.{{{ids[BEATING]}}}&order=n")]
    assert beats == ["DeviceRegistered", "DeviceCameOnline"], "it never was anything but online"


@pytest.mark.slow
@pytest.mark.req("DF-04", "OQ-08")
async def test_a_pc_that_vanishes_is_an_open_alert_until_one_of_its_phones_is_heard(start):
    vanishing = ["VANISHES01", "VANISHES02", "VANISHES03"]
    platform = await start()
    async with platform.calling() as http:

        async def open_alerts():
            return await http.rows("alerts", "context=eq.fleet&resolved_at=is.null")

        async def no_open_alert():
            return not await open_alerts()

        phones = [device(serial, pc_id="PC-VANISHES") for serial in vanishing] + [device(BEATING, pc_id="PC-STAYS")]
        assert (await http.call("POST", "/rest/v1/devices", json=phones)).status == 201
        for serial in (*vanishing, BEATING):
            assert (await http.beat(serial)).status == 204

        async def alert_while_the_other_pc_is_heard():
            assert (await http.beat(BEATING)).status == 204
            return await open_alerts()

        (alert,) = await eventually(alert_while_the_other_pc_is_heard, within_s=SEEN_S, every_s=0.5)
        heard = await http.rows("events", "type=eq.DeviceCameOnline&order=at")
        last_heard = max(row["at"] for row in heard)
        assert datetime.fromisoformat(alert["raised_at"]) - datetime.fromisoformat(last_heard) < LATEST
        assert (alert["kind"], alert["subject"], alert["details"]) == ("host_silent", "PC-VANISHES", {"devices": 3})
        assert [await http.status_of(serial) for serial in vanishing] == ["offline"] * 3

        assert (await http.beat(vanishing[1])).status == 204
        await eventually(no_open_alert)
        (over,) = await http.rows("alerts", f"id=eq.{alert['id']}")
        assert over["resolved_at"] is not None
