"""What answers look like: attempts put together, lines of charts, words that not all may read, a system at half."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from drover.api.reads.attempts import attempts_of
from drover.api.reads.overview import KEPT_S, Overviews
from drover.api.reads.series import attempt_series, last_hour, lines_by_state
from drover.readmodel.form import placed
from drover.service.api_keys import Role
from tests.unit.api.reads.desk import NOW, Row, desk_with, key_of

WORK, JOB = UUID(int=1), UUID(int=2)
pytestmark = pytest.mark.req("EV-05")


def event(kind: str, second: int, run: int = 1, **told: object) -> Row:
    columns = {"error_code": None, "message": None, "due_at": None, "screenshot_ref": None} | told
    at = NOW + timedelta(seconds=second)
    return Row(
        task_device_id=WORK,
        task_id=JOB,
        title="a video",
        run=run,
        attempt=run,
        event_type=kind,
        created_at=at,
        **columns,
    )


def test_events_of_a_run_are_one_attempt_with_its_times_and_its_end():
    attempts = attempts_of(
        [
            event("CREATED", 1),
            event("SENT", 2),
            event("ACKED", 3),
            event("FAILED", 9, error_code="APP_CRASH", message="crashed", screenshot_ref="shot"),
            event("RETRY_SCHEDULED", 9, due_at=NOW),
            event("CREATED", 15, run=2),
        ]
    )
    first, second = attempts
    assert (first.outcome, first.error_code, first.screenshot_ref) == ("FAILED", "APP_CRASH", "shot")
    assert (first.offered_at, first.ended_at) == (NOW + timedelta(seconds=1), NOW + timedelta(seconds=9))
    assert (first.retry_due_at, first.final) == (NOW, False)
    assert (second.run, second.outcome, second.ended_at) == (2, None, None)


def test_a_final_failure_is_marked_and_a_late_report_is_no_attempt():
    (attempt,) = attempts_of(
        [
            event("ACKED", 1),
            event("TIMEOUT", 2, error_code="TIMEOUT"),
            event("FAILED_FINAL", 2),
            event("STALE_REPORT", 5, run=7),
        ]
    )
    assert (attempt.outcome, attempt.final, attempt.error_code) == ("TIMEOUT", True, "TIMEOUT")


def test_the_last_hour_has_sixty_minutes_and_ends_with_the_one_that_is_not_over():
    minutes = last_hour(NOW)
    assert len(minutes) == 60
    assert minutes[-1] == datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
    assert minutes[0] == datetime(2026, 3, 1, 11, 31, tzinfo=UTC)


def test_means_are_null_where_nothing_happened():
    minutes = last_hour(NOW)
    counts = dict.fromkeys(("succeeded", "failed", "timed_out", "failed_final", "rolled_back", "ran_ms"), 0)
    series = attempt_series(minutes, [Row(minute=minutes[3], started=4, waited_ms=10_000, **counts)])
    assert series.started == [0, 0, 0, 4, *[0] * 56]
    assert series.wait_s == [None, None, None, 2.5, *[None] * 56]
    assert series.run_s == [None] * 60


def test_counts_become_lines():
    minutes = last_hour(NOW)
    lines = lines_by_state(
        minutes, [Row(minute=minutes[0], state="SENT", count=9)], {"sent": "SENT", "failed": "FAILED"}
    )
    assert lines == {"sent": [9, *[0] * 59], "failed": [0] * 60}


ALARM = Row(
    user_id="ann", page_id="p", title="나의 일기", next_alarm_time=NOW, timezone="Asia/Seoul", state="due",
    sent_count=1, attempt=0, shift_min=0, processed_at=None, recover_at=None, retry_at=None, last_error=None,
    last_notification_id=None, last_sent_at=None, created_at=NOW, updated_at=NOW,
)  # fmt: skip


async def test_users_own_words_are_for_those_who_may_read_alarms(desk):
    desk.pool.rows = {placed("rm_reminder.user_rows"): [ALARM], "SELECT body": [Row(body="비밀")]}
    for role, title, body in (
        (Role.VIEWER, None, None),
        (Role.OPERATOR, "나의 일기", "비밀"),
        (Role.ADMIN, "나의 일기", "비밀"),
        (Role.SERVICE_ROLE, "나의 일기", "비밀"),
    ):
        _, page = await desk.ask("/api/reminders", role)
        assert [alarm["title"] for alarm in page["items"]] == [title]
        _, detail = await desk.ask("/api/reminders/ann/p", role)
        assert (detail["reminder"]["title"], detail["body"]) == (title, body)


@pytest.mark.req("SE-11")
async def test_who_reads_users_own_words_is_recorded_and_who_does_not_see_them_is_not(desk):
    desk.pool.rows = {placed("rm_reminder.user_rows"): [ALARM], "SELECT body": [Row(body="비밀")]}
    for path in ("/api/reminders", "/api/reminders/ann/p"):
        assert (await desk.ask(path, Role.VIEWER))[0] == 200
    assert desk.accesses.lines() == []
    for path in ("/api/reminders", "/api/reminders/ann/p"):
        assert (await desk.ask(path, Role.OPERATOR))[0] == 200
    assert desk.accesses.lines() == [
        ("user:kim", "reminder_text", "/api/reminders"),
        ("user:kim", "reminder_text", "/api/reminders/ann/p"),
    ]
    desk.accesses.is_away = True
    assert (await desk.ask("/api/reminders", Role.ADMIN))[0] == 200, "the same person, this hour"
    assert (await desk.ask("/api/reminders", Role.SERVICE_ROLE))[0] == 503


async def test_a_page_that_is_full_says_where_it_goes_on(desk):
    desk.pool.rows = {placed("rm_reminder.user_rows"): [ALARM] * 3}
    _, page = await desk.ask("/api/reminders?limit=2")
    assert len(page["items"]) == 2 and page["next"]
    _, page = await desk.ask(f"/api/reminders?limit=3&cursor={page['next']}")
    assert len(page["items"]) == 3 and page["next"] is None
    _, values = desk.pool.asked[-1]
    assert values == (NOW, "p", "ann")


async def test_the_system_tells_what_it_can_while_a_server_is_away(desk):
    desk.pool.fault = ConnectionRefusedError()
    status, system = await desk.ask("/api/system")
    assert status == 200
    (fleet,) = system["partitions"]
    assert (fleet["leader"], fleet["log_seq"], fleet["projected_seq"], fleet["behind"]) == (
        "scheduler-1",
        120,
        None,
        None,
    )
    nats, postgres = system["dependencies"]
    assert nats["status"] == "connected" and nats["latency_ms"] == 0.4
    assert postgres["status"].startswith("unreachable")
    desk.pool.fault, desk.log.word, desk.log.found = None, "unreachable: TimeoutError", []
    desk.pool.rows = {"pg_database_size": [Row(version="18.4", size_bytes=9)]}
    _, system = await desk.ask("/api/system")
    nats, postgres = system["dependencies"]
    assert (nats["status"], nats["latency_ms"]) == ("unreachable: TimeoutError", None)
    assert (postgres["status"], postgres["version"]) == ("connected", "18.4")


async def test_a_read_model_that_is_behind_says_by_how_much_and_for_how_long(desk):
    then = datetime.now(UTC) - timedelta(minutes=1)
    checkpoint = {"context": "fleet", "partition": "main", "n": 1, "updated_at": then}
    for seq, behind in ((100, 20), (120, 0)):
        desk.log.found = [desk.log.found[0]._replace(at=then)]
        desk.pool.rows = {"drover.checkpoints": [Row(seq=seq, **checkpoint)]}
        _, system = await desk.ask("/api/system")
        (fleet,) = system["partitions"]
        assert (fleet["projected_seq"], fleet["behind"]) == (seq, behind)
        assert (fleet["lag_s"] >= 60) if behind else (fleet["lag_s"] == 0)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def test_the_overview_is_looked_up_once_a_second_for_all_but_those_who_name_a_position(desk, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(Overviews.__init__, "__kwdefaults__", Overviews.__init__.__kwdefaults__ | {"clock": clock})
    async with desk_with() as other:
        await other.ask("/api/overview")
        asked = len(other.pool.asked)
        assert asked > 10
        clock.now_s += KEPT_S / 2
        await other.ask("/api/overview")
        assert len(other.pool.asked) == asked
        await other.ask("/api/overview", **{"Drover-Min-Position": "fleet=1"})
        assert len(other.pool.asked) > asked
        asked = len(other.pool.asked)
        clock.now_s += KEPT_S
        await other.ask("/api/overview")
        assert len(other.pool.asked) > asked


async def test_the_overview_is_not_kept_across_a_commit():
    async with desk_with() as other:
        await other.ask("/api/overview")
        asked = len(other.pool.asked)
        other.newest.observe("fleet", 7)
        await other.ask("/api/overview")
        assert (again := len(other.pool.asked)) > asked
        await other.ask("/api/overview")
        assert len(other.pool.asked) == again


async def test_a_read_that_may_be_stale_says_so(desk):
    desk.newest.observe("fleet", 7)
    for reached, said in ((True, None), (False, "fleet=7")):
        desk.positions.reached = reached
        async with desk.client.get("/api/devices", headers=key_of(Role.SERVICE_ROLE)) as answer:
            assert (answer.status, answer.headers.get("Drover-Behind")) == (200, said)
