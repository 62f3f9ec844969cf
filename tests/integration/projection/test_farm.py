"""The life of a farm in Postgres: rows as the log says, and the views as clients know them."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from drover.bus.telemetry import Beat, Work
from drover.domain.fleet import events as e
from drover.domain.fleet.index import slots
from drover.domain.fleet.policy import ATTEMPTS_MAX, PC_CAPACITY_MAX, TIMEOUT_MESSAGE
from drover.domain.fleet.state import DeviceStatus, Fleet
from drover.postgres.pool import open_pool
from drover.projection.presence import PresenceWriter
from drover.projection.runtime import Limits, Runner
from drover.projector.fleet import FLEET_PROJECTION
from drover.projector.fleet.presence import FLEET_PRESENCE
from drover.readmodel.form import placed
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import check_relations
from drover.testing.waiting import eventually
from tests.integration.projection.described import check_described, plan_of, relations_of, views_of
from tests.integration.projection.history import FarmHistory
from tests.unit.projection.walking import Walk

SMALL = Limits(batch_events_max=100, cached_rows_max=50)
"""Many batches, and a cache that forgets: rows must be loaded again."""
START = datetime(2026, 3, 1, tzinfo=UTC)
PHONES = [str(UUID(int=number)) for number in range(1, 10)]
JOB, OTHER_JOB = str(UUID(int=101, version=4)), str(UUID(int=102, version=4))
WORKS = [str(UUID(int=200 + number, version=4)) for number in range(9)]
SPEC = ("a video", "https://youtu.be/x", "youtube_watch", 30, 90, 50, 30, 10)


class Views:
    """Projects a farm, and asks as a client would."""

    def __init__(self, farm: Any, dsn: str, read_model: Any) -> None:
        self.farm = farm
        self.dsn = dsn
        self.read_model = read_model

    async def project(self, limits: Limits | None = None) -> None:
        async with Runner(FLEET_PROJECTION, self.farm.log, self.dsn, limits=limits) as runner:
            await eventually(lambda: runner.checkpoint == self.farm.head or runner.stopped)
            assert runner.stopped is None

    async def rows(self, view: str, where: str = "TRUE") -> list[dict[str, Any]]:
        rows = await self.read_model.connection.fetch(placed(f"SELECT * FROM rm_fleet.{view} WHERE {where}"))
        return [dict(row) for row in rows]

    async def by_id(self, view: str) -> dict[str, dict[str, Any]]:
        return {str(row["id"]): row for row in await self.rows(view)}

    async def after(self, *events: e.FleetEvent) -> Views:
        """A further commit, projected."""
        await self.farm.commit(*events)
        await self.project()
        return self


@pytest.fixture
def views(farm, dsn, read_model) -> Views:
    return Views(farm, dsn, read_model)


@pytest.fixture
async def lived(views) -> FarmHistory:
    """Some four hundred assignments, projected."""
    history = FarmHistory(views.farm, START)
    await history.write()
    await views.project()
    return history


def created(job_id: str = JOB, *, is_active: bool = True, target: e.Target | None = None) -> e.JobCreated:
    return e.JobCreated(job_id, *SPEC, is_active, 10.0, target)


def offered(number: int, job_id: str = JOB, run: int = 1, attempt: int = 1) -> e.AttemptCreated:
    return e.AttemptCreated(WORKS[number], job_id, PHONES[number], run, attempt, "pc-0")


def sent(number: int, job_id: str = JOB) -> e.AttemptSent:
    return e.AttemptSent(WORKS[number], job_id, PHONES[number], 1, 1, START + timedelta(minutes=20))


def started(number: int, job_id: str = JOB) -> e.AttemptStarted:
    return e.AttemptStarted(WORKS[number], job_id, PHONES[number], 1, 1, 0, None, START + timedelta(minutes=20))


def running(number: int, job_id: str = JOB) -> list[Any]:
    return [offered(number, job_id), sent(number, job_id), started(number, job_id)]


def succeeded(number: int) -> e.AttemptSucceeded:
    return e.AttemptSucceeded(WORKS[number], JOB, PHONES[number], 1, 1, START, START, 156, True, False, False, None)


def late(number: int) -> e.AttemptTimedOut:
    return e.AttemptTimedOut(WORKS[number], JOB, PHONES[number], 1, 1, TIMEOUT_MESSAGE, True)


def retried(number: int) -> e.RetryScheduled:
    return e.RetryScheduled(WORKS[number], JOB, PHONES[number], 1, 1, START + timedelta(minutes=30))


def failed_final(number: int) -> e.AttemptFailedFinal:
    return e.AttemptFailedFinal(WORKS[number], JOB, PHONES[number], 1, 1, "X", "X", "broken", False)


# A whole history


@pytest.mark.req("EV-03")
async def test_a_farms_life_gives_exactly_the_rows_that_its_log_says(views) -> None:
    history = FarmHistory(views.farm, START)
    await history.write()
    await views.project(SMALL)
    assert len(history.works) >= 300
    assert await views.read_model.checkpoint() == views.farm.head
    assert await views.read_model.agrees(views.farm)
    seen = {row["type"] for row in await views.rows("events")}
    assert {type_.__name__ for type_ in e.FleetEvent.__args__} - seen == {"TermStarted"}


@pytest.mark.req("OQ-01", "OQ-13")
async def test_task_devices_says_of_every_assignment_how_it_stands(views, lived) -> None:
    rows = await views.by_id("task_devices")
    assert {key: row["status"] for key, row in rows.items()} == {work.id: work.status for work in lived.works}
    assert {row["status"] for row in rows.values()} == {
        "pending",
        "claimed",
        "running",
        "completed",
        "failed",
        "cancelled",
    }
    for work in lived.works:
        row = rows[work.id]
        assert (str(row["task_id"]), str(row["device_id"])) == (work.job_id, work.device_id)
        assert (row["attempt"], row["max_attempts"], row["run"]) == (work.attempt, ATTEMPTS_MAX, work.run)
        assert row["timed_out"] == work.timed_out
        assert row["pc_id"] == work.pc_id
        assert (row["completed_at"] is None) == (row["status"] in ("pending", "claimed", "running"))


@pytest.mark.req("OQ-01", "DF-01")
async def test_a_device_is_busy_exactly_where_task_devices_says_that_something_runs(views, lived) -> None:
    executing = Counter(row["device_id"] for row in await views.rows("task_devices", "status = 'running'"))
    assert executing and set(executing.values()) == {1}
    devices = await views.rows("devices")
    assert {device["id"] for device in devices if device["status"] == "busy"} == set(executing)
    assert {device["status"] for device in devices} <= set(DeviceStatus)
    pcs = await views.rows("pcs")
    for pc in pcs:
        counts = Counter(device["status"] for device in devices if device["pc_id"] == pc["id"])
        assert {status: pc[status] for status in DeviceStatus} == {status: counts[status] for status in DeviceStatus}
        assert pc["device_count"] == counts.total()


@pytest.mark.req("EV-04", "OQ-09", "OQ-14")
async def test_the_history_of_every_attempt_is_complete_and_in_order(views, lived) -> None:
    for view in ("tasks_event", "execution_logs"):
        told: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for row in sorted(await views.rows(view), key=lambda row: row["id"]):
            told[str(row["task_device_id"])].append((row["event_type"], row["attempt"], row["run"]))
            assert row["level"] in ("info", "warning", "error")
        assert told == {work.id: work.history for work in lived.works if work.history}


async def test_the_counters_of_a_job_are_those_of_its_assignments_that_were_not_taken_back(views, lived) -> None:
    of_job: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in await views.rows("job_assignments", "status <> 'cancelled' OR reason = 'admin'"):
        waits_for_retry = row["status"] == "pending" and row["retry_count"] and not _is_offered(row)
        of_job[row["job_id"]]["retrying" if waits_for_retry else row["status"]] += 1
    names = ("pending", "running", "retrying", "completed", "failed", "cancelled")
    for job in await views.rows("jobs"):
        assert {name: job[name] for name in names} == {name: of_job[job["id"]][name] for name in names}


def _is_offered(row: dict[str, Any]) -> bool:
    return row["assigned_at"] is not None and row["retry_due_at"] is None


@pytest.mark.req("OQ-11")
async def test_every_job_of_a_history_is_a_task_with_its_status(views, lived) -> None:
    tasks = await views.by_id("tasks")
    assert {key: task["status"] for key, task in tasks.items()} == lived.task_status
    assert set(lived.task_status.values()) == {"success", "failed", "cancelled", "pending", "running"}


@pytest.mark.req("OQ-10")
async def test_the_running_count_of_a_pc_counts_every_slot_that_is_taken(views, lived) -> None:
    pc_of = {device["id"]: device["pc_id"] for device in await views.rows("devices")}
    taken = Counter(
        pc_of[row["device_id"]]
        for row in await views.rows("job_assignments", "status IN ('pending', 'running')")
        if row["assigned_at"] is not None
    )
    assert taken
    summary = await views.rows("pc_device_summary")
    assert {row["pc_id"]: row["running_count"] for row in summary if row["running_count"]} == taken


# Single views


@pytest.mark.req("DF-01", "DF-04")
async def test_a_device_shows_its_error_before_its_work_and_its_work_before_its_presence(views) -> None:
    await views.farm.register(phones=1)
    phone = PHONES[0]

    async def status() -> tuple[Any, ...]:
        (device,) = await views.rows("devices")
        return device["status"], device["error_code"], device["error_until"]

    await views.after(created(), e.JobActivated(JOB))
    assert await status() == ("offline", None, None)
    await views.after(e.DeviceCameOnline(phone))
    assert await status() == ("online", None, None)
    await views.after(*running(0))
    assert await status() == ("busy", None, None)
    await views.after(e.DeviceQuarantined(phone, "APP_CRASH", START, None, JOB))
    assert await status() == ("error", "APP_CRASH", START)
    await views.after(e.DeviceReleased(phone, "time"), late(0), retried(0))
    assert await status() == ("online", None, None)
    await views.after(e.DeviceWentOffline(phone, None))
    assert await status() == ("offline", None, None)


@pytest.mark.req("OQ-06")
async def test_a_timeout_has_a_column_of_its_own(views) -> None:
    await views.farm.register(phones=2)
    await views.farm.commit(created(), *running(0), *running(1), late(0), retried(0))
    await views.after(late(1), e.AttemptFailedFinal(WORKS[1], JOB, PHONES[1], 1, 1, "TIMEOUT", "TIMEOUT", None, False))
    assigned = await views.by_id("job_assignments")
    assert [(assigned[work]["status"], assigned[work]["timed_out"]) for work in WORKS[:2]] == [
        ("pending", True),
        ("failed", True),
    ]
    tasks = await views.by_id("task_devices")
    assert (tasks[WORKS[0]]["timed_out"], tasks[WORKS[0]]["error"]) == (True, TIMEOUT_MESSAGE)
    assert tasks[WORKS[1]]["error"] == "TIMEOUT"


@pytest.mark.req("DF-03")
async def test_an_assignment_shows_all_that_its_agent_reported(views) -> None:
    await views.farm.register(phones=1)
    await views.after(created(), *running(0), succeeded(0))
    (row,) = await views.rows("job_assignments")
    assert (row["status"], row["progress_pct"], row["actual_duration_sec"], row["retry_count"]) == (
        "completed",
        100,
        156,
        0,
    )
    assert (row["did_like"], row["did_comment"], row["did_playlist"], row["error_code"]) == (True, False, False, None)
    assert None not in (row["assigned_at"], row["started_at"], row["completed_at"])


@pytest.mark.req("DF-02")
async def test_a_job_shows_all_that_its_client_said(views) -> None:
    await views.farm.register(phones=1)
    await views.after(created(target=e.Target(group_id="P1-G1", count=5)))
    (job,) = await views.rows("jobs")
    fields = ("title", "target_url", "script_type", "duration_min_pct", "duration_max_pct")
    assert tuple(job[field] for field in fields) == SPEC[:5]
    assert (job["prob_like"], job["prob_comment"], job["prob_playlist"]) == SPEC[5:]
    assert (job["is_active"], job["base_reward"], job["status"]) == (True, 10.0, "created")
    assert msgspec.json.decode(job["target"]) == {"group_id": "P1-G1", "count": 5}


@pytest.mark.req("DF-30")
async def test_what_a_stall_report_carries_is_shown_with_its_attempt(views) -> None:
    await views.farm.register(phones=1)
    shown = {"screenshot_ref": "shots/1.png", "activity_stack": "WatchWhileActivity"}
    stall = e.AttemptFailed(WORKS[0], JOB, PHONES[0], 1, 1, "PLAYBACK_STALLED", "PLAYBACK_STALLED", None, True, **shown)
    await views.after(created(), *running(0), stall, retried(0))
    (row,) = await views.rows("tasks_event", "event_type = 'FAILED'")
    assert {name: row[name] for name in shown} == shown
    assert (row["error_code"], row["attempt"]) == ("PLAYBACK_STALLED", 1)


@pytest.mark.req("OQ-11")
@pytest.mark.parametrize(
    ("story", "shown"),
    [
        ([], "pending"),
        ([e.JobPaused(JOB, "admin", None)], "pending"),
        ([e.JobActivated(JOB)], "running"),
        ([e.JobActivated(JOB), *running(0)], "running"),
        ([e.JobActivated(JOB), *running(0), late(0), retried(0)], "retrying"),
        ([e.JobActivated(JOB), *running(0), late(0), retried(0), offered(1)], "running"),
        ([e.JobActivated(JOB), *running(0), late(0), retried(0), offered(0, run=2, attempt=2)], "running"),
        ([e.JobActivated(JOB), *running(0), succeeded(0), e.JobCompleted(JOB, 1, 0, 0)], "success"),
        (
            [*running(0), succeeded(0), *running(1), late(1), failed_final(1), e.JobCompleted(JOB, 1, 1, 0)],
            "success",
        ),
        ([e.JobActivated(JOB), *running(0), late(0), failed_final(0), e.JobCompleted(JOB, 0, 1, 0)], "failed"),
        ([e.JobExpired(JOB)], "cancelled"),
        ([e.JobDeactivated(JOB, None)], "cancelled"),
        ([e.JobCancelled(JOB)], "cancelled"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(type(event).__name__ for event in value) or "new",
)
async def test_the_status_of_a_task_follows_from_its_job(views, story, shown) -> None:
    await views.farm.register(phones=2)
    await views.after(created(), *story)
    (task,) = await views.rows("tasks")
    assert task["status"] == shown


@pytest.mark.req("OQ-15")
async def test_every_pc_is_a_worker_with_its_capacity(views) -> None:
    await views.after(e.PcRegistered("pc-0", 20), e.PcRegistered("pc-1", 20), e.PcCapacityChanged("pc-1", 7))
    rows = await views.by_id("workers")
    assert {key: (row["pc_id"], row["device_capacity"], row["max_devices"]) for key, row in rows.items()} == {
        "pc-0": ("pc-0", 20, 20),
        "pc-1": ("pc-1", 7, 7),
    }


async def test_an_alert_is_shown_until_and_after_it_is_resolved(views) -> None:
    await views.after(e.AlertRaised("a", "host", "pc-0", "All phones fail", {"devices": 10}))
    (alert,) = await views.rows("alerts", "resolved_at IS NULL")
    assert (alert["id"], alert["kind"], alert["subject"], alert["reason"]) == ("a", "host", "pc-0", None)
    assert msgspec.json.decode(alert["details"]) == {"devices": 10}
    await views.after(e.AlertResolved("a", "host", "pc-0", "time"))
    (alert,) = await views.rows("alerts", "resolved_at IS NOT NULL")
    assert alert["reason"] == "time"


# How many a PC has, may have, should have


async def _summary(views: Views, pc_id: str = "pc-0") -> tuple[int, int, int]:
    (row,) = await views.rows("pc_device_summary", f"pc_id = '{pc_id}'")
    return row["running_count"], row["eligible_device_count"], row["target"]


@pytest.mark.req("OQ-10", "OQ-03")
async def test_without_an_active_job_every_device_that_is_heard_and_well_is_eligible(views) -> None:
    await views.farm.register(phones=4)
    online = [e.DeviceCameOnline(phone) for phone in PHONES[:3]]
    await views.after(*online, e.DeviceQuarantined(PHONES[0], "X", None, None, None))
    assert await _summary(views) == (0, 2, 2)


@pytest.mark.req("OQ-10")
async def test_offered_sent_running_and_retried_work_holds_a_slot_and_ended_or_waiting_work_none(views) -> None:
    await views.farm.register(phones=6)
    await views.after(
        created(),
        offered(0),
        offered(1),
        sent(1),
        *running(2),
        *running(3),
        late(3),
        retried(3),
        *running(4),
        succeeded(4),
        e.AssignmentRequested(WORKS[5], JOB, PHONES[5]),
    )
    assert (await _summary(views))[0] == 4


@pytest.mark.req("OQ-10", "OQ-03")
@pytest.mark.parametrize(
    ("target", "eligible"),
    [
        (None, 4),
        (e.Target(count=1), 4),
        (e.Target(group_id="P1-G1"), 3),
        (e.Target(pc_id="pc-0"), 4),
        (e.Target(pc_id="pc-9"), 0),
        (e.Target(group_id="P1-G1", pc_id="pc-0"), 3),
        (e.Target(device_ids=(PHONES[0], PHONES[8])), 1),
        (e.Target(device_ids=()), 0),
    ],
    ids=repr,
)
async def test_eligible_are_the_devices_that_the_active_job_is_for(views, target, eligible) -> None:
    await views.farm.register(phones=5)
    await views.farm.commit(*(e.DeviceCameOnline(phone) for phone in PHONES[:4]))
    await views.farm.commit(e.DeviceChanged(PHONES[3], "P2-G2", "pc-0", []))
    await views.after(created(OTHER_JOB, target=e.Target(device_ids=())), created(target=target), e.JobActivated(JOB))
    assert await _summary(views) == (0, eligible, eligible)


@pytest.mark.req("OQ-10", "DF-08", "DF-16")
async def test_a_device_that_was_named_is_eligible_if_it_has_what_the_job_needs(views) -> None:
    await views.farm.register(phones=3)
    await views.farm.commit(*(e.DeviceCameOnline(phone) for phone in PHONES[:3]))
    await views.after(
        created(target=e.Target(device_ids=())),
        created(OTHER_JOB, target=e.Target(device_ids=())),
        e.JobActivated(JOB),
        e.AssignmentRequested(WORKS[0], JOB, PHONES[0]),
        e.AssignmentRequested(WORKS[1], OTHER_JOB, PHONES[1]),
    )
    assert await _summary(views) == (0, 1, 1)
    await views.after(e.JobNeedAdded(JOB, "age_verified"))
    assert await _summary(views) == (0, 0, 0)
    await views.after(e.DeviceChanged(PHONES[0], "P1-G1", "pc-0", ["age_verified", "youtube"]))
    assert await _summary(views) == (0, 1, 1)


@pytest.mark.req("OQ-03")
async def test_the_target_of_a_pc_is_bounded_by_its_capacity_and_by_the_platforms(views) -> None:
    phones = [str(UUID(int=number + 1)) for number in range(25)]
    await views.farm.commit(e.PcRegistered("pc-0", 20))
    await views.farm.commit(*(e.DeviceRegistered(p, f"SERIAL{p[-4:]}", "P1-G1", "pc-0", []) for p in phones))
    await views.after(*(e.DeviceCameOnline(phone) for phone in phones))
    assert await _summary(views) == (0, 25, PC_CAPACITY_MAX)
    await views.after(e.PcCapacityChanged("pc-0", 7))
    assert await _summary(views) == (0, 25, 7)
    await views.after(e.PcCapacityChanged("pc-0", 1_000))
    assert await _summary(views) == (0, 25, PC_CAPACITY_MAX)


@pytest.mark.req("OQ-10", "OQ-03")
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_the_summary_of_every_pc_is_what_the_decider_supplies_by(views, seed) -> None:
    walk = Walk(seed)
    steps = iter([*walk.start(), *([None] * 600)])
    for number, events in enumerate(steps):
        if events := walk.step() if events is None else events:
            await views.farm.commit(*events)
        if number % 60 == 59:
            await views.project(SMALL)
            await _compare_with_decider(views, walk.fleet)
    assert await views.read_model.agrees(views.farm)


async def _compare_with_decider(views: Views, fleet: Fleet) -> None:
    summary = {row["pc_id"]: row for row in await views.rows("pc_device_summary")}
    assert summary.keys() == fleet.pcs.keys()
    for pc in fleet.pcs.values():
        row = summary[pc.pc_id]
        assert row["running_count"] == pc.in_use
        if fleet.supply is None:
            well = [d for d in map(fleet.devices.__getitem__, pc.devices) if d.alive and d.error is None]
            assert row["eligible_device_count"] == len(well)
        elif pc.seen_in == fleet.supply.look:
            assert (row["eligible_device_count"], row["target"]) == (pc.countable, min(slots(pc), pc.countable))
    devices = await views.by_id("devices")
    assert {key: row["status"] for key, row in devices.items()} == {
        d.device_id: d.status for d in fleet.devices.values()
    }
    running = [task["id"] for task in await views.rows("tasks", "status IN ('running', 'retrying')")]
    assert list(map(str, running)) == ([fleet.active.job_id] if fleet.active else [])


# Fine progress


async def test_progress_is_the_larger_of_the_events_and_the_telemetry_of_the_same_run(views) -> None:
    await views.farm.register(phones=1)
    await views.after(created(), *running(0), e.AttemptProgressed(WORKS[0], JOB, PHONES[0], 1, 1, 40, False))

    async def shown(*works: Work | None) -> int:
        async with open_pool(views.dsn, "test") as pool, PresenceWriter(pool, FLEET_PRESENCE) as presence:
            presence.note([Beat(PHONES[0], datetime.now(UTC), None, work) for work in works])
        (row,) = await views.rows("job_assignments")
        return row["progress_pct"]

    assert await shown() == 40
    assert await shown(Work(WORKS[0], 1, 47, True, False)) == 47
    assert await shown(None) == 47
    assert await shown(Work(WORKS[0], 1, 12, False, False)) == 40
    assert await shown(Work(WORKS[0], 2, 60, False, False)) == 40
    assert await shown(Work(WORKS[1], 1, 60, False, False)) == 40
    assert await shown(Work(WORKS[0], 1, 60, False, False), None) == 60
    for bad in (Work("no uuid", 1, 70, False), Work(WORKS[0], 2**31, 70, False), Work(WORKS[0], 1, 170, False)):
        assert await shown(bad) == 60
    row = await views.read_model.connection.fetchrow("SELECT * FROM tel_fleet.presence")
    assert (str(row["assignment_id"]), row["run"], row["progress_pct"], row["ad_playing"]) == (WORKS[0], 1, 60, False)
    await views.after(late(0), retried(0))
    assert await shown() == 0


# Indices


ASKED_OFTEN = [
    (f"job_assignments WHERE device_id = '{PHONES[0]}' AND status = 'pending'", "assignment_rows_device"),
    (f"job_assignments WHERE job_id = '{JOB}' AND status = 'failed'", "assignment_rows_job"),
    ("job_assignments ORDER BY assigned_at, id LIMIT 1", "assignment_rows_assigned_at"),
    ("task_devices WHERE status = 'claimed'", "assignment_rows_task_status"),
    ("task_devices WHERE status = 'running' AND pc_id = 'pc-0'", "assignment_rows_task_status"),
    (f"tasks_event WHERE task_device_id = '{WORKS[0]}'", "tasks_event_task_device_id"),
    (f"tasks_event WHERE task_id = '{JOB}' ORDER BY created_at DESC LIMIT 1", "tasks_event_task_id"),
    (f"tasks_event WHERE device_id = '{PHONES[0]}' ORDER BY created_at DESC LIMIT 1", "tasks_event_device_id"),
    ("execution_logs ORDER BY created_at DESC LIMIT 1", "tasks_event_created_at"),
    ("jobs WHERE status = 'active'", "job_rows_status"),
    ("jobs ORDER BY created_at DESC LIMIT 1", "job_rows_created_at"),
    ("alerts WHERE resolved_at IS NULL ORDER BY raised_at DESC LIMIT 1", "alert_rows_open"),
]


async def test_what_clients_ask_often_has_an_index(views) -> None:
    await views.after(e.PcRegistered("pc-0", 20))
    connection = views.read_model.connection
    await connection.execute("SET enable_seqscan = off; SET enable_sort = off")
    for question, index in ASKED_OFTEN:
        plan = await plan_of(connection, placed(f"SELECT * FROM rm_fleet.{question}"))
        assert index in plan, f"{question}\n{plan}"


# Descriptions


async def test_every_described_relation_is_a_view_with_these_columns_and_types(views) -> None:
    check_relations(RELATIONS)
    await views.after(e.PcRegistered("pc-0", 20))
    await check_described(views.read_model.connection, "fleet")


async def test_every_view_of_the_read_model_is_described(views) -> None:
    await views.after(e.PcRegistered("pc-0", 20))
    assert await views_of(views.read_model.connection, "fleet") | {"events", "tasks_event"} == relations_of("fleet")
