"""The farm as it was a moment ago, from a running platform."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest


@pytest.mark.req("EV-05")
async def test_a_phone_that_came_later_was_not_there_yet(http):
    assert (await http.register("EARLIER001")).status == 201
    between = datetime.now(UTC).isoformat()
    assert (await http.register("LATER00001")).status == 201

    async def serials(as_of):
        answer = await http.call("GET", "/api/moments/fleet?as_of=" + as_of.replace("+", "%2B"))
        assert answer.status == 200, answer.raw
        return {device["serial_number"] for device in answer.json["devices"]}

    then, now = await serials(between), await serials(datetime.now(UTC).isoformat())
    assert "EARLIER001" in then
    assert "LATER00001" not in then
    assert {"EARLIER001", "LATER00001"} <= now
