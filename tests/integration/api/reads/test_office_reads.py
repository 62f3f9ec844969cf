"""Renders, analyses, reminders, overview and system as people read them, folded from logs of this hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from drover.api.figures.measuring import Measuring
from drover.api.figures.sampler import Sampler
from drover.api.reads.database import ReadModels
from drover.api.reads.system import SystemReader
from drover.domain.alerts import AlertRaised
from drover.domain.analysis import events as analysis
from drover.domain.event import TermStarted
from drover.domain.fleet import events as fleet
from drover.domain.reminder import events as reminder
from drover.domain.render.events import RenderCompleted
from drover.postgres.migrate import migrate
from drover.readmodel.form import schema_of
from tests.integration.api.reads.desk import QuietLog, desk_on
from tests.integration.api.reads.logs import Logs
from tests.unit.domain.render.world import PATH, SHA, Hand, requested

PHONES = [str(UUID(int=number)) for number in (1, 2, 3)]
JOB = str(UUID(int=100, version=4))
WORKS = [str(UUID(int=300 + number, version=4)) for number in range(3)]
TESTS = [str(UUID(int=200 + number, version=4)) for number in range(3)]
RUN = str(UUID(int=500, version=4))
SPEC = ("a video", "https://youtu.be/x", "youtube_watch", 30, 90, 50, 30, 10, True, 10.0, None)
pytestmark = pytest.mark.req("EV-05")


class Office:
    def __init__(self, desk, logs: Logs, connection: asyncpg.Connection, begun: datetime, dsn: str) -> None:
        self.desk = desk
        self.dsn = dsn
        self.logs = logs
        self.connection = connection
        self.begun = begun


@pytest.fixture
async def office(postgres_dsn):
    """Everything began ten minutes ago, an event a second in each context."""
    await migrate(postgres_dsn)
    begun = datetime.now(UTC) - timedelta(minutes=10)
    logs = Logs(lambda n: begun + timedelta(seconds=n))
    for write in (write_fleet, write_renders, write_analyses, write_reminders):
        await write(logs, begun)
    await logs.project(postgres_dsn)
    connection = await asyncpg.connect(postgres_dsn)
    async with desk_on(postgres_dsn) as desk:
        yield Office(desk, logs, connection, begun, postgres_dsn)
    await connection.close()


async def write_fleet(logs: Logs, begun: datetime) -> None:
    farm = logs["fleet"]
    await farm.commit(fleet.PcRegistered("pc-0", 20))
    for number, phone in enumerate(PHONES):
        await farm.commit(fleet.DeviceRegistered(phone, f"SERIAL0{number}", "P1-G1", "pc-0", []))
        await farm.commit(fleet.DeviceCameOnline(phone))
    await farm.commit(fleet.JobCreated(JOB, *SPEC), fleet.JobActivated(JOB))
    for number in range(3):
        attempt = (WORKS[number], JOB, PHONES[number], 1, 1)
        await farm.commit(fleet.AttemptCreated(*attempt, "pc-0"))
        await farm.commit(fleet.AttemptSent(*attempt, begun + timedelta(hours=1)))
        await farm.commit(fleet.AttemptStarted(*attempt, 0, None, begun + timedelta(hours=1)))
    end = fleet.AttemptSucceeded(WORKS[0], JOB, PHONES[0], 1, 1, begun, begun, 156, True, False, False, None)
    await farm.commit(end)
    failed = ("APP_CRASH", "APP_CRASH", "crashed", True)
    await farm.commit(
        fleet.AttemptFailed(WORKS[1], JOB, PHONES[1], 1, 1, *failed),
        fleet.AttemptFailedFinal(WORKS[1], JOB, PHONES[1], 1, 1, "APP_CRASH", "APP_CRASH", "crashed", False),
        fleet.DeviceQuarantined(PHONES[1], "APP_CRASH", None, None, JOB),
        AlertRaised("alert-1", "device_failing", PHONES[1], "It fails", {}),
    )


async def write_renders(logs: Logs, begun: datetime) -> None:
    queue = logs["render"]
    for number in (1, 2, 3):
        await queue.commit(requested(number))
    done, at_work = Hand(1, 1, "worker-1"), Hand(2, 1, "worker-2")
    await queue.commit(done.claimed())
    await queue.commit(done.submitted())
    await queue.commit(RenderCompleted(*done.of, PATH, 200_000, SHA, 60.0, "h264", 1920, 1080))
    await queue.commit(at_work.claimed())


async def write_analyses(logs: Logs, begun: datetime) -> None:
    tests = logs["analysis"]
    await tests.commit(analysis.UserRegistered("ann", "free", 5))
    for number, test in enumerate(TESTS):
        await tests.commit(analysis.TestStarted(test, "ann"), analysis.TestCharged(test, "ann", 4 - number))
    await tests.commit(analysis.TestCompleted(TESTS[0], "ann", "result"))
    await tests.commit(analysis.CleanupRunStarted(RUN, "manual", None, begun, {}, False))
    await tests.commit(
        analysis.TestFailed(TESTS[1], "ann", "timeout", None, "시스템 타임아웃으로 자동 정리됨", RUN),
        analysis.TestRefunded(TESTS[1], "ann", 3, RUN),
        analysis.CleanupRunFinished(RUN, 1, 0, 1, 12),
    )


async def write_reminders(logs: Logs, begun: datetime) -> None:
    alarms = logs["reminder"]
    await alarms.commit(reminder.UserAdded("ann", "Asia/Seoul"))
    for number, due in enumerate((begun, begun + timedelta(hours=2), begun + timedelta(days=9))):
        await alarms.commit(reminder.AlarmRegistered(f"page-{number}", "ann", f"Title {number}", "Its text", due, 1, 1))
    sending = ("page-0", "ann", 1, 1, 1)
    await alarms.commit(reminder.AlarmDispatched(*sending, "a", begun + timedelta(hours=6)))
    await alarms.commit(reminder.SendingUncertain(*sending, "timeout", "no answer", [], begun + timedelta(hours=6)))


async def test_why_a_render_a_test_and_a_reminder_stand_where_they_do(office):
    async def why(path: str) -> tuple[str, list[str]]:
        answer = await office.desk.get(f"/api/why/{path}")
        assert all(one["sentence"] for one in answer["reasons"])
        return answer["status"], [one["data"]["code"] for one in answer["reasons"]]

    assert await why("renders/1") == ("completed", ["render_completed"])
    assert await why("renders/2") == ("preparing", ["render_worker_gone", "render_slow", "render_working"])
    status, codes = await why("renders/3")
    assert (status, codes[0]) == ("pending", "no_render_worker")
    assert await why(f"tests/{TESTS[0]}") == ("completed", ["test_completed"])
    assert await why(f"tests/{TESTS[1]}") == ("failed", ["test_failed", "test_refunded"])
    assert (await why(f"tests/{TESTS[2]}"))[0] == "processing"
    assert await why("reminders/ann/page-0") == ("in_hand", ["alarm_unknown"])
    assert await why("reminders/ann/page-2") == ("upcoming", ["alarm_upcoming"])
    for path in ("renders/99", f"tests/{RUN}", "reminders/ann/other"):
        assert (await office.desk.ask(f"/api/why/{path}"))[0] == 404


async def test_renders_have_their_history_and_their_stages(office):
    renders = await office.desk.rows("/api/renders?limit=1")
    assert [(render["id"], render["status"]) for render in renders] == [
        (3, "pending"), (2, "preparing"), (1, "completed"),
    ]  # fmt: skip
    assert "gfx_data" not in renders[0]
    assert await office.desk.rows("/api/renders?status=pending,preparing&limit=1&order=oldest") == renders[1::-1]
    detail = await office.desk.get("/api/renders/1")
    assert detail["render"] == renders[2]
    assert [(change["status_from"], change["status_to"]) for change in detail["audit"]] == [
        ("rendering", "completed"), ("preparing", "rendering"), ("pending", "preparing"), (None, "pending"),
    ]  # fmt: skip
    assert [(stage["stage"], stage["seconds"], stage["verdict"]) for stage in detail["stages"]] == [
        ("preparing", 1.0, "within"), ("rendering", 1.0, "below"),
    ]  # fmt: skip
    (worker,) = [row for row in await office.desk.rows("/api/render-workers") if row["render_id"] == 2]
    assert (worker["worker_id"], worker["status"]) == ("worker-2", "gone")


async def test_analyses_and_what_cleaned_them_up(office):
    tests = await office.desk.rows("/api/analyses?limit=2")
    assert [(test["id"], test["status"]) for test in tests] == [
        (TESTS[2], "processing"), (TESTS[1], "failed"), (TESTS[0], "completed"),
    ]  # fmt: skip
    assert [test["id"] for test in await office.desk.rows("/api/analyses?status=processing")] == [TESTS[2]]
    assert await office.desk.rows("/api/analyses?user_id=ann") == tests
    assert await office.desk.rows("/api/analyses?user_id=bob") == []
    (run,) = await office.desk.rows("/api/cleanup-runs")
    assert (run["id"], run["cleaned_count"], run["tiers_started_before"]) == (RUN, 1, {})
    detail = await office.desk.get(f"/api/cleanup-runs/{RUN}")
    assert detail["run"] == run
    assert [(test["test_id"], test["outcome"]) for test in detail["tests"]["items"]] == [(TESTS[1], "cleaned")]
    assert await office.desk.rows(f"/api/cleanup-runs/{RUN}/tests") == detail["tests"]["items"]


async def test_the_ledger_of_a_user_adds_up(office):
    ledger = await office.desk.get("/api/users/ann/ledger")
    assert [(entry["kind"], entry["amount"]) for entry in ledger["items"]] == [
        ("refund", 1), ("charge", -1), ("charge", -1), ("charge", -1), ("initial", 5),
    ]  # fmt: skip
    assert sum(entry["amount"] for entry in ledger["items"]) == ledger["user"]["remaining_tests"] == 3
    assert await office.desk.rows("/api/users/ann/ledger?limit=2") == ledger["items"]
    status, body = await office.desk.ask("/api/users/bob/ledger")
    assert (status, body["error"]) == (404, "NOT_FOUND")


async def test_reminders_come_soonest_first_with_where_they_stand(office):
    alarms = await office.desk.rows("/api/reminders?limit=1")
    assert [(alarm["page_id"], alarm["state"]) for alarm in alarms] == [
        ("page-0", "in_hand"), ("page-1", "upcoming"), ("page-2", "upcoming"),
    ]  # fmt: skip
    assert {alarm["timezone"] for alarm in alarms} == {"Asia/Seoul"}
    for state, pages in (("in_hand", [0]), ("failing", [0]), ("upcoming", [1, 2]), ("due", [])):
        rows = await office.desk.rows(f"/api/reminders?state={state}")
        assert rows == [alarms[page] for page in pages], state
    detail = await office.desk.get("/api/reminders/ann/page-0")
    assert (detail["reminder"], detail["body"]) == (alarms[0], "Its text")
    assert [event["event_type"] for event in detail["history"]["items"]] == ["UNKNOWN", "DISPATCHED", "REGISTERED"]
    events = await office.desk.rows("/api/reminder-events?event_type=REGISTERED,UNKNOWN&limit=2")
    assert [event["event_type"] for event in events] == ["UNKNOWN", *["REGISTERED"] * 3]


async def test_the_overview_counts_what_runs_waits_and_went_wrong(office):
    overview = await office.desk.get("/api/overview")
    assert overview["devices"] == {"online": 1, "busy": 1, "offline": 0, "error": 1}
    assert {state: count for state, count in overview["jobs"].items() if count} == {"active": 1}
    assert {state: count for state, count in overview["assignments"].items() if count} == {
        "running": 1, "completed": 1, "failed": 1,
    }  # fmt: skip
    assert overview["renders"] == {"pending": 1, "preparing": 1, "completed": 1}
    assert overview["analyses"] == {"processing": 1, "failed": 1, "completed": 1}
    assert overview["alarms"] == {"due": 0, "in_hand": 1, "failing": 1, "next_day": 1}
    assert overview["alerts"]["open"] == 1
    assert [alert["id"] for alert in overview["alerts"]["newest"]] == ["alert-1"]
    assert overview["partitions"][0]["context"] == "fleet"


async def test_the_overview_has_the_last_hour_by_the_minute(office):
    hour = (await office.desk.get("/api/overview"))["last_hour"]
    assert len(hour["minutes"]) == 60
    attempts = hour["attempts"]
    assert {name: sum(attempts[name]) for name in ("started", "succeeded", "failed", "failed_final")} == {
        "started": 3, "succeeded": 1, "failed": 1, "failed_final": 1,
    }  # fmt: skip
    assert {wait for wait in attempts["wait_s"] if wait is not None} == {2.0}, "two seconds from offer to start"
    assert (sum(hour["renders"]["completed"]), sum(hour["analyses"]["failed"])) == (1, 1)
    for lines in (attempts, hour["renders"], hour["analyses"], hour["reminders"]):
        assert {len(line) for line in lines.values()} == {60}


async def test_charts_show_what_was_recorded_and_a_gap_where_nothing_was(office):
    await office.logs["fleet"].commit(TermStarted(epoch=2, holder="scheduler-2"))
    await office.logs.project(office.dsn)
    pool = office.desk.pool.whole
    sampler = Sampler(pool, Measuring(ReadModels(pool), SystemReader(QuietLog(), ReadModels(pool), "test")).measure)
    while True:
        await sampler.keep()
        await office.connection.execute("UPDATE drover.farm_minutes SET lag_ms = 99000")
        await sampler.keep()
        measured, *another = await office.connection.fetch("SELECT * FROM drover.farm_minutes")
        if not another:
            break
        await office.connection.execute("DELETE FROM drover.farm_minutes")  # a new minute began in between
    assert measured["lag_ms"] == 99_000, "the largest of the minute"
    assert (measured["online"], measured["busy"], measured["offline"], measured["error"]) == (1, 1, 0, 1)
    to = (measured["minute"] + timedelta(minutes=1)).isoformat().replace("+00:00", "Z")

    series = await office.desk.get(f"/api/series?range=1h&to={to}")
    assert (series["step_s"], len(series["minutes"])) == (60, 60)
    sums = {name: sum(n or 0 for n in series["attempts"][name]) for name in ("started", "succeeded", "failed")}
    assert sums == {"started": 3, "succeeded": 1, "failed": 1}
    assert {wait for wait in series["attempts"]["wait_s"] if wait is not None} == {2.0}
    assert [n for n in series["phones"]["online"] if n is not None] == [1] and series["phones"]["online"][-1] == 1
    for at, minutes in enumerate(series["minutes"]):
        assert (series["attempts"]["succeeded"][at] is None) == (minutes == 0)
    assert 0 in series["minutes"], "nothing was recorded an hour ago"
    assert [restart["by"] for restart in series["restarts"]] == ["scheduler-2"]
    day = await office.desk.get(f"/api/series?range=24h&to={to}")
    assert sum(n or 0 for n in day["attempts"]["started"]) == 3 and len(day["minutes"]) == 96


async def test_minutes_older_than_charts_go_are_removed(office):
    await office.connection.execute(
        "INSERT INTO drover.farm_minutes SELECT now() - n * interval '1 day', 1, 0, 0, 0 FROM generate_series(30, 33) n"
    )
    pool = office.desk.pool.whole
    await Sampler(pool, Measuring(ReadModels(pool), SystemReader(QuietLog(), ReadModels(pool), "test")).measure).keep()
    assert await office.connection.fetchval("SELECT count(*) FROM drover.farm_minutes") == 2


async def test_the_system_says_how_far_each_read_model_is_and_who_is_connected(office):
    system = await office.desk.get("/api/system")
    (fleet_state,) = system["partitions"]
    assert fleet_state["projected_seq"] == office.logs["fleet"].head.seq
    assert fleet_state["leader"] == "a" and fleet_state["behind"] == 0
    assert {model["schema"] for model in system["read_models"]} == {
        schema_of(context) for context in ("fleet", "render", "analysis", "identity", "reminder")
    }
    nats, postgres = system["dependencies"]
    assert (nats["name"], nats["status"]) == ("nats", "connected")
    assert (postgres["name"], postgres["status"]) == ("postgres", "connected") and postgres["size_bytes"] > 0
    assert "test" in {connection["name"] for connection in system["connections"]}


@pytest.mark.req("YR-09")
async def test_the_system_says_what_was_detached_from_the_tables(postgres_dsn):
    await migrate(postgres_dsn)
    async with desk_on(postgres_dsn) as desk:
        assert (await desk.get("/api/system"))["detached"] == []
        await desk.pool.fetch(
            'INSERT INTO drover.detached_partitions (context, "table", from_seq, to_seq, name, until) VALUES '
            "('fleet', 'events', 0, 20, 'a', '2026-03-01T00:00:00Z'), "
            "('fleet', 'events', 20, 40, 'b', '2026-03-02T00:00:00Z')"
        )
        (detached,) = (await desk.get("/api/system"))["detached"]
    assert detached == {"context": "fleet", "before_seq": 40, "until": "2026-03-02T00:00:00Z"}


async def test_before_anything_is_projected_every_list_is_empty(postgres_dsn):
    await migrate(postgres_dsn)
    async with desk_on(postgres_dsn) as desk:
        for path in (
            "/api/pcs", "/api/devices", "/api/jobs", "/api/renders", "/api/render-workers", "/api/analyses",
            "/api/cleanup-runs", "/api/reminders", "/api/reminder-events", "/api/alerts", "/api/events",
        ):  # fmt: skip
            assert await desk.get(path) == {"items": [], "next": None}, path
        assert await desk.get("/api/users/ann/ledger") == {"user": None, "items": [], "next": None}
        overview = await desk.get("/api/overview")
        assert overview["devices"] == {"online": 0, "busy": 0, "offline": 0, "error": 0}
        assert sum(overview["last_hour"]["attempts"]["started"]) == 0


async def test_a_read_waits_for_the_position_that_it_is_given_and_is_503_when_that_does_not_come(office):
    status, body = await office.desk.ask("/api/jobs", **{"Drover-Min-Position": "fleet=999999"})
    assert (status, body["error"]) == (503, "READ_MODEL_BEHIND")
    office.desk.positions.observe("fleet", "main", office.logs["fleet"].head.seq)
    reached = {"Drover-Min-Position": f"fleet={office.logs['fleet'].head.seq},render=999"}
    assert (await office.desk.ask("/api/jobs", **reached))[0] == 200
    assert (await office.desk.ask("/api/renders", **reached))[0] == 503
