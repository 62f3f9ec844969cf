"""Analyses in Postgres: rows as the log says, views as clients know them, however small the batches are."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from drover.domain.analysis import ANALYSIS
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.projection.checkpoint import Checkpoint
from drover.projection.memory import MemoryTables
from drover.projection.runtime import Limits, Runner
from drover.projector.analysis import ANALYSIS_PROJECTION
from drover.readmodel.form import placed
from drover.testing.waiting import eventually
from tests.integration.projection.described import check_described, relations_of, views_of
from tests.unit.projection.test_analysis_fold import Walk

SMALL = Limits(batch_events_max=40, cached_rows_max=10)
"""Many batches, and a cache that forgets: rows must be loaded again."""
CODEC = Codec.of(ANALYSIS)


class Recorded(Walk):
    """The same walk, and its commits for a log."""

    def __init__(self, seed: int) -> None:
        self.commits: list[list[Any]] = []
        super().__init__(seed)

    def do(self, command: Any) -> None:
        super().do(command)
        self.commits.append(list(self.scenario.decision.events))


class Lived:
    """An office that has lived, projected."""

    def __init__(self, dsn: str, connection: Any) -> None:
        self.log = MemoryLog(Partition("analysis"))
        self.dsn = dsn
        self.connection = connection
        self.memory = MemoryTables(ANALYSIS_PROJECTION)
        self.head = Checkpoint()

    async def write(self, seed: int, steps: int) -> None:
        walk = Recorded(seed)
        for _ in range(steps):
            before = len(walk.commits)
            walk.step()
            if len(walk.commits) == before:  # time passed, and the clock did something
                walk.commits.append(list(walk.scenario.decision.events))
        n = 0
        for events in walk.commits:
            if not events:
                continue
            for event in events:
                n += 1
                event.n, event.by, event.cause = n, "test", f"command-{n}"
            commit = Commit(str(self.head.seq), 1, CODEC.encode(events))
            seq = await self.log.append(commit, self.head.seq)
            self.head = Checkpoint(seq, n, commit.id)
            stored = await self.log.get(seq)
            assert stored is not None
            self.memory.fold(stored)

    async def project(self) -> None:
        async with Runner(ANALYSIS_PROJECTION, self.log, self.dsn, limits=SMALL) as runner:
            await eventually(lambda: runner.checkpoint == self.head or runner.stopped, within_s=60)
            assert runner.stopped is None

    async def rows(self, table: Any) -> set[tuple[Any, ...]]:
        columns = ", ".join(f'"{column}"' for column in table.columns)
        found = await self.connection.fetch(placed(f"SELECT {columns} FROM rm_analysis.{table.name}"))
        return {tuple(map(_plain, row)) for row in found}


def _plain(value: Any) -> Any:
    """The same for a row from memory and a row from Postgres."""
    if isinstance(value, str) and value.startswith("{"):
        return msgspec.json.encode(msgspec.json.decode(value), order="sorted")  # jsonb has an order of its own
    return tuple(value) if isinstance(value, list) else value


@pytest.fixture
async def lived(dsn, read_model) -> Lived:
    office = Lived(dsn, read_model.connection)
    await office.write(seed=3, steps=400)
    await office.project()
    return office


@pytest.mark.req("EV-03", "SY-07")
async def test_rows_are_exactly_those_that_the_log_says(lived):
    for table in ANALYSIS_PROJECTION.tables:
        assert await lived.rows(table) == {tuple(map(_plain, row)) for row in lived.memory.rows(table)}, table.name


@pytest.mark.req("SY-07")
async def test_a_run_shows_which_tests_and_which_users(lived):
    runs = await lived.connection.fetch(placed("SELECT * FROM rm_analysis.cleanup_runs WHERE cleaned_count > 1"))
    assert runs
    for run in runs:
        tests = await lived.connection.fetch(
            placed("SELECT id::text, user_id FROM rm_analysis.saju_tests WHERE cleanup_run_id = $1"), run["id"]
        )
        assert {row["id"] for row in tests} == {*run["tests_cleaned"]}
        assert sorted({row["user_id"] for row in tests}) == run["users_affected"]
        assert (run["cleaned_count"], run["users_count"]) == (len(tests), len(run["users_affected"]))
        assert len(run["tests_skipped"]) == run["skipped_count"]


@pytest.mark.req("SY-03")
async def test_the_ledger_adds_up_to_what_each_user_has_left(lived):
    rows = await lived.connection.fetch(
        placed(
            "SELECT u.id, u.remaining_tests, sum(l.amount) AS total FROM rm_analysis.users u "
            "JOIN rm_analysis.test_ledger l ON l.user_id = u.id GROUP BY u.id, u.remaining_tests"
        )
    )
    assert len(rows) == 4
    assert all(row["total"] == row["remaining_tests"] for row in rows)


async def test_every_described_relation_is_a_view_with_these_columns_and_types(lived):
    await check_described(lived.connection, "analysis")


async def test_every_view_of_the_read_model_is_described(lived):
    shown_as_they_are = {"events", "cleanup_run_tests", "test_ledger"}
    assert await views_of(lived.connection, "analysis") | shown_as_they_are == relations_of("analysis")
