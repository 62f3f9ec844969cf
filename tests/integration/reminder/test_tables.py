"""Writes of `alarm` and `user_info` on real servers: the filters are PostgreSQL's, the writer decides."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from drover.testing.waiting import eventually

SHOW = {"Prefer": "return=representation"}
ALARMS = 60
WRITTEN_S = 30.0


@pytest.fixture
async def theirs(make_platform):
    """A platform whose users keep their own sender."""
    return await make_platform(SENDS="0")


async def write(platform, method, path, json=None, **headers):
    """Repeat what is refused because the read model is late: on a slow machine it may be."""
    async with asyncio.timeout(WRITTEN_S):
        while True:
            answer, body = await platform.call(method, f"/rest/v1/{path}", json, **(headers or SHOW))
            if answer.status != 503:
                break
    assert answer.status in (200, 201), body
    return body


def ago(**duration):
    return (datetime.now(UTC) - timedelta(**duration)).isoformat().replace("+", "%2B")


async def due(platform):
    """Sixty alarms of ten users, in all partitions."""
    rows = [{"page_id": f"page-{n}", "user_id": f"user-{n % 10}", "title": f"{n}"} for n in range(ALARMS)]
    return await write(platform, "POST", "alarm", rows)


@pytest.mark.req("DI-04", "RM-06", "DI-14")
async def test_senders_that_mark_all_that_is_due_at_once_share_it(theirs):
    await due(theirs)
    free = f"alarm?next_alarm_time=lte.{ago()}&or=(processed_at.is.null,processed_at.lt.{ago(hours=6)})"
    now = datetime.now(UTC).isoformat()
    shares = await asyncio.gather(*(write(theirs, "PATCH", free, {"processed_at": now}) for _ in range(4)))
    taken = [row["page_id"] for share in shares for row in share]
    assert sorted(taken) == sorted(f"page-{n}" for n in range(ALARMS)), "each by one of them"
    marked = await theirs.rows("alarm?processed_at=not.is.null")
    assert len(marked) == ALARMS
    assert {datetime.fromisoformat(row["processed_at"]) for row in marked} == {datetime.fromisoformat(now)}


@pytest.mark.req("DI-04", "RM-08")
async def test_what_a_filter_finds_is_released_sent_and_deleted(theirs):
    await due(theirs)
    now = datetime.now(UTC).isoformat()
    await write(theirs, "PATCH", "alarm?user_id=in.(user-1,user-2)", {"processed_at": now})
    released = await write(theirs, "PATCH", "alarm?user_id=eq.user-1&processed_at=not.is.null", {"processed_at": None})
    assert sorted(row["page_id"] for row in released) == sorted(f"page-{n}" for n in range(1, ALARMS, 10))
    assert {row["processed_at"] for row in released} == {None}
    sent = await write(theirs, "PATCH", "alarm?user_id=eq.user-2&sent_count=eq.1", {"sent_count": 2})
    assert {(row["sent_count"], row["processed_at"]) for row in sent} == {(2, None)}
    times = {row["next_alarm_time"] for row in sent}
    assert len(times) == len(sent) == 6, "two alarms of a user do not share a minute"
    gone = await write(theirs, "DELETE", "alarm?sent_count=gt.1")
    assert len(gone) == 6
    assert len(await theirs.rows("alarm")) == ALARMS - 6


@pytest.mark.req("DI-04", "DI-18", "EV-03")
async def test_after_any_writes_every_row_is_as_the_log_says(theirs):
    await due(theirs)
    merge = {"Prefer": "resolution=merge-duplicates,return=representation"}
    rows = [{"page_id": f"page-{n}", "user_id": f"user-{n % 10}", "title": "later"} for n in range(5)]
    merged = await write(theirs, "POST", "alarm?on_conflict=page_id", rows, **merge)
    assert [row["title"] for row in merged] == ["later"] * 5
    zones = [{"user_id": f"user-{n}", "timezone": "Europe/Berlin"} for n in range(3)]
    await write(theirs, "POST", "user_info?on_conflict=user_id", zones, **merge)
    await write(theirs, "DELETE", "user_info?user_id=eq.user-2")
    await write(theirs, "PATCH", "alarm?page_id=eq.page-7", {"processed_at": datetime.now(UTC).isoformat()})
    await write(theirs, "PATCH", "alarm?page_id=eq.page-7", {"processed_at": "2020-01-01T00:00:00Z"})
    assert len(await theirs.rows("user_info")) == 9
    (page,) = await theirs.rows("alarm?page_id=eq.page-2&select=page_id,user_info(timezone)")
    assert page["user_info"] is None

    async def same():
        return await theirs.read_model() == await theirs.as_the_log_says()

    await eventually(same)
