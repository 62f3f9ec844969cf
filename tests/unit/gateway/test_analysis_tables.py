"""`users` and `saju_tests` as tables: inserts, upserts, updates by filters, and who charges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.commands import ChangeTest, ChangeUser, Cleanup, RecordTest, RegisterUser, UserFence
from drover.domain.analysis.state import TestStatus
from drover.testing.scenario import NOON
from tests.unit.gateway.render_office import KEYED, SHOW, QueueWriter, open_render_office

ANN = "user_ann"
ONE = {"Accept": "application/vnd.pgrst.object+json"}
MERGE = {"Prefer": "return=representation,resolution=merge-duplicates"}
IGNORE = {"Prefer": "return=representation,resolution=ignore-duplicates"}
T1 = "00000000-0000-4000-8000-000000000001"
NOW = "2026-03-02T12:00:00+00:00"


class Saju:
    def __init__(self, office) -> None:
        self.office = office
        self.ask = office.ask
        self.bus = office.bus
        self.do = office.bus.do
        self.ended_tests: list[dict[str, str]] = []
        """What the read model says of ended tests, which the writer may have forgotten."""
        self._read, office.pool.fetchrow = office.pool.fetchrow, self._fetchrow

    async def _fetchrow(self, query, *args, timeout=None):  # noqa: ASYNC109
        pool = self.office.pool
        if '"completed_at" IS NOT NULL' not in query or pool.rows is None:
            return await self._read(query, *args, timeout=timeout)
        rows, pool.rows = pool.rows, self.ended_tests
        try:
            return await self._read(query, *args, timeout=timeout)
        finally:
            pool.rows = rows

    @property
    def state(self):
        return self.bus.scenario.state

    def user(self, tests: int = 5) -> None:
        self.do(RegisterUser(ANN, tests))

    def remaining(self) -> int:
        return self.state.users[ANN].remaining

    def reads(self, *rows) -> None:
        """What the read model has."""
        self.office.pool.rows = rows


@pytest.fixture
async def saju():
    async with open_render_office(QueueWriter(ANALYSIS)) as office:
        yield Saju(office)


@pytest.mark.req("DI-05")
async def test_a_user_is_inserted_and_shown_whole(saju):
    answer = await saju.ask("POST", "users", {"id": ANN, "remaining_tests": 5, "updated_at": NOW}, **SHOW, **ONE)
    assert (answer.status, answer.headers["Drover-Ignored"]) == (201, "updated_at")
    row = await answer.json()
    assert (row["id"], row["remaining_tests"], row["tier"], row["frozen"]) == (ANN, 5, "free", False)
    assert (row["granted"], row["adjusted"], row["charged"], row["refunded"]) == (5, 0, 0, 0)
    assert None not in row.values()
    again = await saju.ask("POST", "users", {"id": ANN})
    assert (again.status, (await again.json())["code"]) == (409, "23505")


@pytest.mark.req("DI-05", "DI-18")
async def test_an_upsert_changes_what_it_says_and_answers_with_the_whole_row(saju):
    saju.user(tests=5)
    saju.reads({"id": ANN, "tier": "free", "remaining_tests": 5, "charged": 7})
    answer = await saju.ask("POST", "users?on_conflict=id", {"id": ANN, "tier": "gold"}, **MERGE, **ONE)
    row = await answer.json()
    assert (answer.status, row["tier"], row["remaining_tests"], row["charged"]) == (201, "gold", 5, 7)
    assert saju.remaining() == 5
    answer = await saju.ask("POST", "users", [{"id": ANN, "remaining_tests": 6}, {"id": "user_ben"}], **MERGE)
    assert [(row["id"], row["remaining_tests"]) for row in await answer.json()] == [(ANN, 6), ("user_ben", 0)]
    answer = await saju.ask("POST", "users", {"id": ANN, "remaining_tests": 6}, **MERGE, **ONE)
    assert (answer.status, (await answer.json())["charged"]) == (201, 7), "nothing to change"


@pytest.mark.req("DI-18")
async def test_duplicates_are_ignored_if_the_caller_says_so(saju):
    saju.user(tests=5)
    answer = await saju.ask("POST", "users", [{"id": ANN, "remaining_tests": 6}, {"id": "user_ben"}], **IGNORE)
    assert (answer.status, [row["id"] for row in await answer.json()]) == (201, ["user_ben"])
    assert saju.remaining() == 5
    answer = await saju.ask("POST", "users?on_conflict=tier", {"id": ANN}, **MERGE)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "on_conflict")


@pytest.mark.req("DI-05")
async def test_a_written_balance_is_recorded_as_a_difference(saju):
    saju.user(tests=5)
    answer = await saju.ask("PATCH", f"users?id=eq.{ANN}", {"remaining_tests": 4, "updated_at": NOW})
    assert (answer.status, answer.headers["Drover-Ignored"]) == (204, "updated_at")
    assert (saju.state.users[ANN].adjusted, saju.remaining()) == (-1, 4)
    for body, field in (
        ({}, "remaining_tests"),
        ({"remaining_tests": -1}, "remaining_tests"),
        ({"email": "a"}, "email"),
    ):
        answer = await saju.ask("PATCH", f"users?id=eq.{ANN}", body)
        assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)
    assert (await saju.ask("PATCH", "users?id=eq.nobody", {"remaining_tests": 4})).status == 404


@pytest.mark.req("DI-05")
async def test_the_filters_of_an_update_are_conditions_that_the_writer_decides(saju):
    saju.user(tests=4)  # the read model is behind
    saju.reads({"id": ANN, "tier": "free", "frozen": False, "remaining_tests": 5})
    answer = await saju.ask(
        "PATCH", f"users?id=eq.{ANN}&remaining_tests=eq.5&select=id", {"remaining_tests": 4}, **SHOW
    )
    assert (answer.status, await answer.json()) == (200, [])
    assert answer.headers["Drover-Refused"] == f"{ANN}=CONFLICT"
    assert saju.bus.commands == [ChangeUser(ANN, remaining_tests=4, only_if=UserFence(remaining_tests=5))]


@pytest.mark.req("DI-05")
async def test_tests_under_way_are_brought_along_and_cost_nothing(saju):
    saju.user(tests=2)
    rows = [{"user_id": ANN, "status": "processing", "created_at": when} for when in ("2026-03-02T20:25:00+09:00",) * 2]
    rows.append({"user_id": ANN, "created_at": "2026-03-02T11:45:00"})
    answer = await saju.ask("POST", "saju_tests", rows, **SHOW)
    shown = await answer.json()
    assert answer.status == 201
    assert [row["created_at"] for row in shown] == [*["2026-03-02T11:25:00Z"] * 2, "2026-03-02T11:45:00Z"]
    assert {row["status"] for row in shown} == {"processing"} and not any(row["refunded"] for row in shown)
    assert saju.remaining() == 2
    saju.do(Cleanup("11111111-0000-7000-8000-000000000001"))
    assert saju.remaining() == 4, "each of the two is given back"
    assert saju.state.tests.keys() == {shown[2]["id"]}


@pytest.mark.req("DI-05")
async def test_an_insert_needs_a_known_user_and_repeats_with_its_key(saju):
    answer = await saju.ask("POST", "saju_tests", {"user_id": "user_nobody"})
    assert (answer.status, (await answer.json())["code"]) == (404, "NOT_FOUND")
    saju.user()
    for _ in range(2):
        assert (await saju.ask("POST", "saju_tests", {"user_id": ANN}, **KEYED)).status == 201
    assert len(saju.state.tests) == 1


@pytest.mark.req("DI-05")
async def test_a_test_is_completed_or_failed_as_a_row_and_its_caller_gives_it_back(saju):
    saju.user(tests=4)
    for status in ("completed", "failed"):
        made = await saju.ask("POST", "saju_tests", {"user_id": ANN}, **SHOW, **ONE)
        test_id = (await made.json())["id"]
        body = {"status": status, "error_message": "no answer", "updated_at": NOW}
        assert (await saju.ask("PATCH", f"saju_tests?id=eq.{test_id}", body)).status == 204
        assert saju.state.ended[test_id].status == status
        assert (await saju.ask("PATCH", f"saju_tests?id=eq.{test_id}", body)).status == 204, "a repeat"
        answer = await saju.ask("PATCH", f"saju_tests?id=eq.{test_id}", {"status": "processing"})
        assert (answer.status, (await answer.json())["code"]) == (409, "STALE_ATTEMPT")
    assert saju.remaining() == 4
    answer = await saju.ask("PATCH", f"saju_tests?id=eq.{test_id}", {"error_message": "no answer"})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "status")


@pytest.mark.req("DI-05", "SY-06")
async def test_two_cron_processes_clean_a_row_once(saju):
    saju.user()
    began = NOON - timedelta(minutes=35)
    saju.do(RecordTest(T1, ANN, created_at=began))
    saju.reads({"id": T1, "status": "processing", "user_id": ANN})  # both have read it
    path = "saju_tests?status=eq.processing&created_at=lt.2026-03-02T11:30:00Z&select=id,user_id"
    for changed in ([{"id": T1, "user_id": ANN}], []):
        answer = await saju.ask("PATCH", path, {"status": "failed", "error_message": "timeout"}, **SHOW)
        assert (answer.status, await answer.json()) == (200, changed)
    assert saju.bus.commands[0] == ChangeTest(
        T1, TestStatus.FAILED, error_message="timeout", only_if=TestStatus.PROCESSING
    )


@pytest.mark.req("DI-05")
async def test_a_test_is_upserted_by_its_id(saju):
    saju.user()
    saju.reads({"id": T1, "user_id": ANN, "status": "processing", "created_at": NOW})
    for status in ("processing", "processing", "completed"):
        row = {"id": T1, "user_id": ANN, "status": status}
        answer = await saju.ask("POST", "saju_tests", row, **MERGE, **ONE)
        assert (answer.status, (await answer.json())["status"]) == (201, status)
    assert saju.state.ended[T1].status == "completed"
    assert datetime.fromisoformat((await answer.json())["created_at"]) == datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.req("DI-05", "SY-06")
async def test_a_test_that_the_writer_has_forgotten_is_not_recorded_again(saju):
    """It could be cleaned again, and given back again."""
    saju.user()
    row = {"id": T1, "user_id": ANN, "status": "processing", "created_at": "2026-02-01T00:00:00Z"}
    saju.reads()
    saju.ended_tests = [{"id": T1, "ended_at": NOW}]
    answer = await saju.ask("POST", "saju_tests", [row, row, {"user_id": ANN}])
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["accepted"]) == (409, "23505", [2])
    assert T1 not in saju.state.tests
    ((_, *values), *_) = saju.office.pool.asked
    assert any(T1 in str(value) for value in values)
    answer = await saju.ask("POST", "saju_tests", row, **IGNORE)
    assert (answer.status, await answer.json()) == (201, [])
    assert (await saju.ask("POST", "saju_tests", row, **MERGE)).status == 404, "as for an update"
    saju.office.pool.rows = None
    assert (await saju.ask("POST", "saju_tests", row)).status == 503, "nobody can tell"


@pytest.mark.req("SY-06", "YR-13")
@pytest.mark.parametrize(("ended_in_s", "status"), [(-60, 201), (86_400, 409)])
async def test_a_test_that_ended_in_the_future_may_be_forgotten_too(saju, ended_in_s, status):
    """The times of rows are a day ahead after a clock was. What ended a moment ago, the writer itself knows."""
    saju.user()
    saju.reads()
    saju.ended_tests = [{"id": T1, "ended_at": (datetime.now(UTC) + timedelta(seconds=ended_in_s)).isoformat()}]
    row = {"id": T1, "user_id": ANN, "status": "processing", "created_at": NOW}
    assert (await saju.ask("POST", "saju_tests", row)).status == status
    assert (await saju.ask("POST", "saju_tests", {"user_id": ANN})).status == 201, "a new id needs no look"


@pytest.mark.req("DI-05")
async def test_only_the_service_key_writes_tests(saju):
    for role, status in (("anon", 403), ("authenticated", 403), ("operator", 403)):
        answer = await saju.ask("POST", "saju_tests", {"user_id": ANN}, role=role)
        assert answer.status == status
        assert (await saju.ask("PATCH", f"users?id=eq.{ANN}", {"remaining_tests": 9}, role=role)).status == status


@pytest.mark.req("DI-05")
async def test_no_start_of_a_test_is_an_internal_error(saju):
    saju.user()
    row = {"user_id": ANN, "created_at": "0001-01-01T00:00:00+14:00"}
    answer = await saju.ask("POST", "saju_tests", [{"user_id": ANN}, row])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "[1].created_at")
    assert not saju.state.tests, "nothing is written"
    answer = await saju.ask("POST", "saju_tests", row | {"created_at": "9999-12-31T23:59:59-14:00"}, **SHOW, **ONE)
    assert (answer.status, (await answer.json())["created_at"]) == (201, "2026-03-02T12:00:00Z")


@pytest.mark.req("DI-05")
async def test_a_filter_on_any_column_that_changes_guards_a_balance(saju):
    saju.user(tests=5)
    saju.reads({"id": ANN, "tier": "free", "frozen": False, "remaining_tests": 5})
    saju.do(ChangeUser(ANN, remaining_tests=4))  # by somebody else, after the row was read
    path = f"users?id=eq.{ANN}&updated_at=eq.2026-03-02T11:00:00Z&select=id"
    answer = await saju.ask("PATCH", path, {"remaining_tests": 6}, **SHOW)
    assert (answer.status, await answer.json(), saju.remaining()) == (200, [], 4)
    answer = await saju.ask("PATCH", f"users?id=eq.{ANN}&created_at=lt.2026-03-03", {"tier": "gold"})
    assert (answer.status, saju.state.users[ANN].tier) == (204, "gold"), "this column does not change"


@pytest.mark.req("DI-05", "DI-18")
async def test_an_upsert_that_is_repeated_shows_the_whole_row_again(saju):
    saju.user(tests=5)
    saju.reads({"id": ANN, "tier": "free", "remaining_tests": 9, "granted": 5, "adjusted": 4, "charged": 7})
    shown = []
    for _ in range(2):
        answer = await saju.ask("POST", "users", {"id": ANN, "remaining_tests": 9}, **MERGE, **KEYED)
        assert answer.status == 201
        shown += await answer.json()
    assert shown[0] == shown[1]
    assert (shown[1]["granted"], shown[1]["charged"]) == (5, 7)
