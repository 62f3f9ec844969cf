"""Cleanups and the tests that each one found: the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Final
from uuid import UUID

from drover.readmodel.column import BigInt, Json, column, columns_of, words
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index, KeyedTable

_analysis = partial(relation, "analysis")


class RunRow(Row, frozen=True):
    id: UUID
    trigger: Annotated[str, words("cron", "manual")]
    by: str
    status: Annotated[str, words("running", "finished")]
    scheduled_for: datetime | None
    started_before: datetime
    """The cleanup handled unfinished tests that were started before this time."""
    tiers_started_before: Json
    """For each tier with a time limit of its own: the cleanup handled its unfinished tests that were started before
    this time."""
    cleaned_count: int
    skipped_count: int
    users_count: int
    duration_ms: BigInt | None
    started_at: datetime
    finished_at: datetime | None


class FoundTest(Row, frozen=True):
    """A test that a cleanup found, and its outcome."""

    id: BigInt
    """The id, computed from the position of the event in the log: sequence of the commit * 65536 + line."""
    test_id: UUID
    user_id: str
    outcome: Annotated[str, words("cleaned", "skipped")]
    """What the cleanup did with the test: `cleaned` or `skipped`."""
    reason: str | None
    created_at: datetime


class RunTestRow(FoundTest, frozen=True):
    """A test that a cleanup found."""

    run_id: UUID


RUNS: Final = KeyedTable(
    name="run_rows", row=RunRow, key=("id",), indices=(Index("run_rows_started_at", "started_at"),)
)
RUN_TESTS: Final = AppendTable(
    name="cleanup_run_tests",
    row=RunTestRow,
    key=("id",),
    indices=(
        Index("cleanup_run_tests_run_id", "run_id, id"),
        Index("cleanup_run_tests_test_id", "test_id"),
    ),
)


def _found(what: str, outcome: str, order: str) -> str:
    return f"""ARRAY(
  SELECT {what} FROM cleanup_run_tests t
  WHERE t.run_id = r.id AND t.outcome = '{outcome}' ORDER BY {order}
)"""  # noqa: S608


RELATIONS: Final = (
    _analysis(
        "cleanup_runs",
        (
            *columns_of(RunRow),
            # The lists are computed only if a query selects them.
            column("users_affected", list[str], _found("DISTINCT t.user_id", "cleaned", "t.user_id")),
            column("tests_cleaned", list[str], _found("t.test_id::text", "cleaned", "t.id")),
            column("tests_skipped", list[str], _found("t.test_id::text", "skipped", "t.id")),
        ),
        view=View("run_rows", "r", parts={RUN_TESTS.name: "run_id"}),
        embeds=(many("cleanup_run_tests", "run_id"),),
    ),
    _analysis("cleanup_run_tests", RunTestRow, embeds=(one("cleanup_runs", "run_id"), one("saju_tests", "test_id"))),
)
