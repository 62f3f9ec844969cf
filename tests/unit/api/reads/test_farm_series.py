"""Figures over a range of time: complete steps, and gaps where nothing was recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drover.api.reads.farm_series import RANGES, window
from tests.unit.api.reads.desk import NOW, Row

pytestmark = pytest.mark.req("EV-05")

STEPS_MAX = 120


@pytest.mark.parametrize("name", RANGES)
def test_a_range_ends_with_the_last_full_minute_and_has_whole_steps_of_whole_minutes(name):
    range_ = RANGES[name]
    start, end = window(range_, NOW)
    assert end == NOW.replace(second=0, microsecond=0)
    assert start + range_.steps * range_.step == end
    assert range_.step % timedelta(minutes=1) == timedelta(0)
    assert 15 <= range_.steps <= STEPS_MAX


def test_ranges_go_from_a_quarter_of_an_hour_to_thirty_days():
    assert (RANGES["15m"].length, RANGES["30d"].length) == (timedelta(minutes=15), timedelta(days=30))


async def test_a_step_without_a_record_is_null_and_one_without_attempts_is_zero(desk):
    desk.pool.rows = {
        "AS recorded": [Row(step=0, minutes=1), Row(step=1, minutes=1)],
        "sum(started)": [
            Row(step=1, started=2, succeeded=4, failed=1, rolled_back=0, waited_ms=3000, ran_ms=10_000),
        ],
        "avg(online)": [Row(step=0, online=9, busy=1, offline=0, error=2, lag_ms=1500)],
        "TermStarted": [Row(at=NOW, holder="b"), Row(at=NOW - timedelta(hours=1), holder="a")],
    }
    status, body = await desk.ask("/api/series?range=15m&to=2026-03-01T12:30:15Z")
    assert status == 200
    assert (body["start"], body["step_s"]) == ("2026-03-01T12:15:00Z", 60)
    assert body["minutes"] == [1, 1, *[0] * 13]
    assert body["attempts"]["succeeded"] == [0, 4, *[None] * 13]
    assert body["attempts"]["wait_s"] == [None, 1.5, *[None] * 13]
    assert body["attempts"]["run_s"] == [None, 2.5, *[None] * 13]
    assert body["phones"]["error"] == [2, *[None] * 14]
    assert body["lag_s"] == [1.5, *[None] * 14]
    assert [restart["by"] for restart in body["restarts"]] == ["a", "b"]


async def test_a_range_that_is_not_there_is_400_and_says_which_are(desk):
    status, body = await desk.ask("/api/series?range=1y")
    assert (status, body["details"]["field"]) == (400, "range")
    assert "15m, 1h, 6h, 24h, 7d, 30d" in body["message"]
    status, body = await desk.ask("/api/series?range=30d&to=0001-01-02T00:00:00Z")
    assert (status, body["details"]["field"]) == (400, "to")


def test_the_default_end_is_in_utc():
    assert NOW.tzinfo is UTC and window(RANGES["1h"], datetime.now(UTC))[1].tzinfo is UTC
