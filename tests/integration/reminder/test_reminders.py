"""The life of reminders on real servers: over HTTP into the log, out to the provider, into the tables."""

from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
import structlog

from drover.api.status import StatusReader
from drover.domain.partitions import partition_of
from drover.eventlog.jetstream import JetStreamLog
from drover.projection.positions import Positions
from drover.reminder import reactor
from drover.reminder.page_events import SUBJECT
from drover.testing.waiting import eventually

IN_TIME_S = 60.0


@pytest.mark.req("RM-01", "RM-02", "RM-04", "EV-04")
async def test_a_reminder_is_registered_sent_and_seen_in_the_tables(platform):
    answer = await platform.register("page-1", title="제목", body="본" * 3000)
    await platform.settled()

    async def sent():
        (row,) = await platform.rows("alarm", answer.headers["Drover-Position"])
        return row if row["sent_count"] == 2 else None

    row = await eventually(sent)
    assert (row["page_id"], row["user_id"], row["title"], row["body"]) == ("page-1", "user_1", "제목", "본" * 2000)
    assert (row["processed_at"], row["last_notification_id"]) == (None, "page-1:1")
    due = datetime.fromisoformat(row["next_alarm_time"]) - datetime.fromisoformat(row["created_at"])
    assert timedelta(hours=23, minutes=59) < due <= timedelta(hours=24)
    assert [(user["user_id"], user["timezone"]) for user in await platform.rows("user_info")] == [
        ("user_1", "Asia/Seoul")
    ]
    history = await platform.rows("alarms_event?order=id")
    assert [one["event_type"] for one in history] == ["REGISTERED", "DISPATCHED", "SENT"]
    assert {one["idempotency_key"] for one in history[1:]} == {"page-1:1"}
    told = await platform.rows("alarm?select=page_id,user_info(timezone),alarms_event(event_type)")
    assert told[0]["user_info"] == {"timezone": "Asia/Seoul"}


@pytest.mark.req("RM-06", "EV-03")
async def test_partitions_share_the_tables_and_every_row_is_as_the_log_says(platform):
    users = [f"user-{number}" for number in range(24)]
    for number, user in enumerate(users):
        await platform.register(f"page-{number}", user)
        await platform.post(
            "schedule/v2",
            {"page_id": f"page-{number}", "user_id": user, "next_alarm_time": "2030-01-01T09:00"},
        )
    await platform.post("schedule/v2", {"page_id": "page-0", "user_id": users[0], "next_alarm_time": "2020-01-01"})
    await platform.call("PUT", f"/api/reminder/users/{users[1]}/timezone", {"timezone": "Europe/Berlin"})
    await platform.post("pages-deleted", {"page_ids": ["page-2", "page-3"]})
    await platform.settled()
    names = [partition.name for partition in platform.partitions]
    assert {partition_of(user, names) for user in users} == set(names)

    async def same():
        return await platform.read_model() == await platform.as_the_log_says()

    await eventually(same)
    rows = await platform.read_model()
    assert len(rows["user_rows"]) == 24
    assert len(rows["alarm_rows"]) == 22
    status = await StatusReader(platform.nats, platform.pool, ("reminder",)).read()
    assert [(one.partition, one.leader) for one in status.partitions] == [(name, "one") for name in names]


@pytest.mark.req("RM-06")
async def test_a_read_waits_for_the_partition_that_was_written_and_not_for_idle_ones(platform):
    answer = await platform.register("page-1")
    position = answer.headers["Drover-Position"]
    place, _, seq = position.partition("=")
    assert place == f"reminder.{partition_of('user_1', [one.name for one in platform.partitions])}"
    assert await platform.positions.wait(place, int(seq), IN_TIME_S)
    assert [row["page_id"] for row in await platform.rows("alarm", position)] == ["page-1"]
    # Of the context as a whole, although nothing happens in the other three partitions.
    assert await platform.positions.wait("reminder", int(seq), IN_TIME_S)


async def test_a_process_that_has_heard_nothing_yet_does_not_take_one_partition_for_all(platform):
    await platform.register("page-1")
    last = await JetStreamLog(platform.nats, platform.partitions[0]).context_end()
    fresh = Positions(platform.partitions)
    fresh.observe("reminder", "p0", last)
    assert not await fresh.wait("reminder", last, 0.01)


@pytest.mark.req("RM-05")
async def test_pages_that_another_program_says_are_deleted_lose_their_alarms(platform):
    await platform.register("page-1", "u1")
    await platform.register("page-2", "u2")
    told = msgspec.json.encode({"page_ids": ["page-1", "page-2"]})
    reply = await platform.nats.request(SUBJECT, told, timeout=IN_TIME_S)
    assert sorted(msgspec.json.decode(reply.data)["deleted"]) == ["page-1", "page-2"]
    assert not any(state.alarms for state in platform.states)


@pytest.mark.req("RM-03", "RM-06", "DI-04")
async def test_after_a_restart_everything_goes_on_and_what_is_overdue_is_sent(make_platform):
    async with AsyncExitStack() as stack:
        with structlog.testing.capture_logs() as lines:
            platform = await make_platform(stack, SENDS="0")
        (said,) = [line for line in lines if line["event"] == "reminders_are_not_sent"]
        assert (said["log_level"], said["setting"]) == ("warning", "DROVER_REMINDER_SENDS=0")
        for number in range(20):
            await platform.register(f"page-{number}", f"user-{number}")
        await platform.post(
            "schedule/v2", {"page_id": "page-0", "user_id": "user-0", "next_alarm_time": "2030-01-01T09:00"}
        )
        assert not any(state.in_hand for state in platform.states)
    again = await make_platform()
    await again.settled()

    async def sent():
        return len(await again.rows("alarm?sent_count=eq.2")) == 19

    await eventually(sent)
    (waiting,) = await again.rows("alarm?sent_count=eq.1")
    assert waiting["page_id"] == "page-0"
    assert datetime.fromisoformat(waiting["next_alarm_time"]) == datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.req("RM-15")
async def test_the_fetch_limit_is_changed_while_running_and_survives_a_restart(make_platform):
    async with AsyncExitStack() as stack:
        platform = await make_platform(stack)
        answer, _ = await platform.call("PATCH", "/api/reminder/sending", {"fetch_limit": 3})
        assert answer.status == 200
        await platform.register("page-1")
        await platform.settled()
    again = await make_platform()
    assert {state.fetch_limit for state in again.states} == {3}


@pytest.mark.req("RM-02", "RM-12")
async def test_what_is_due_at_once_is_sent_at_once_and_not_at_the_next_look(make_platform, monkeypatch):
    monkeypatch.setattr(reactor, "POLL_S", 3600.0)
    platform = await make_platform()
    await platform.register("page-1")
    await eventually(lambda: any(alarm.sent_count == 2 for state in platform.states for alarm in state.alarms.values()))


async def test_the_number_of_partitions_stays_whatever_the_setting_says_later(make_platform):
    async with AsyncExitStack() as stack:
        first = await make_platform(stack, PARTITIONS="2")
        await first.register("page-1")
    again = await make_platform(PARTITIONS="16")
    assert [one.name for one in again.partitions] == ["p0", "p1"]
    assert sum(len(state.alarms) for state in again.states) == 1
