"""`/api/analyses`, `/api/cleanup-runs` and `/api/users/{id}/ledger`: tests of users, cleanups of unfinished tests, and
balances."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from aiohttp import web

from drover.api.reads.endpoint import Question, Subject, lists, reads, text_in, uuid_in
from drover.api.reads.listing import Key, Listing, Page, Where, within
from drover.api.reads.parameters import ORDER, one_of, text, uuid
from drover.api.reads.queries import QUERIES
from drover.api.reads.records import maker
from drover.domain.analysis.state import TestStatus
from drover.readmodel.analysis.cleanups import FoundTest, RunRow
from drover.readmodel.analysis.users import LedgerEntry, TestRow, UserRow
from drover.web.errors import not_found
from drover.web.route import in_path

CONTEXT: Final = "analysis"
PATH: Final = "/api/analyses"
RUNS_PATH: Final = "/api/cleanup-runs"
LEDGER_PATH: Final = "/api/users/{id}/ledger"


class Analysis(TestRow, frozen=True):
    """A test of a user, and its result."""


class CleanupRun(RunRow, frozen=True):
    """A run of the cleanup, which searches for tests that never finished."""


class CleanedTest(FoundTest, frozen=True):
    """A test that a cleanup found."""


class CleanupRunDetail(msgspec.Struct):
    """A run of the cleanup, and the tests that it found."""

    run: CleanupRun
    tests: Page[CleanedTest]
    """The first page of `/api/cleanup-runs/{id}/tests`."""


class User(UserRow, frozen=True):
    """A user's tier and balance."""


_make_user: Final = maker(User)


class Ledger(msgspec.Struct):
    """A user, and every change of the user's balance, newest first."""

    user: User | None
    """The user; null only while the read model of analyses does not exist."""
    items: list[LedgerEntry]
    next: str | None


_CREATED: Final = (Key("created_at", "t.created_at", datetime, "timestamptz"), Key("id", "t.id", UUID, "uuid"))
ANALYSES: Final = Listing(
    "analyses",
    CONTEXT,
    Analysis,
    "rm_analysis.test_rows t",
    key=_CREATED,
    wheres=(
        Where(one_of("status", [*TestStatus], "In one of these states.", many=True), "t.status = {}", fans=True),
        Where(text("user_id", "Of this user."), "t.user_id = {}"),
        *within("t.created_at"),
    ),
    order=ORDER,
)
CLEANUP_RUNS: Final = Listing(
    "cleanup_runs",
    CONTEXT,
    CleanupRun,
    "rm_analysis.run_rows r",
    key=(Key("started_at", "r.started_at", datetime, "timestamptz"), Key("id", "r.id", UUID, "uuid")),
    wheres=within("r.started_at"),
)
CLEANUP_RUN_TESTS: Final = Listing(
    "cleanup_run_tests",
    CONTEXT,
    CleanedTest,
    "rm_analysis.cleanup_run_tests t",
    key=(Key("id", "t.id", int, "bigint"),),
    wheres=(Where(uuid("run_id", "Of this cleanup."), "t.run_id = {}", in_path=True),),
    descending=False,
)
LEDGER: Final = Listing(
    "ledger",
    CONTEXT,
    LedgerEntry,
    "rm_analysis.test_ledger l",
    key=(Key("id", "l.id", int, "bigint"),),
    wheres=(Where(text("user_id", "Of this user."), "l.user_id = {}", in_path=True),),
)

_RUN_ID: Final = in_path("id", UUID, "Its id.")


def _run(request: web.Request) -> dict[str, Any]:
    return {"run_id": uuid_in(request, "id")}


class Analyses(Subject):
    analyses = lists(ANALYSES, PATH, id="listAnalyses", tag="analysis", summary="Tests by their start")
    runs = lists(CLEANUP_RUNS, RUNS_PATH, id="listCleanupRuns", tag="analysis", summary="Cleanups, newest first")
    run_tests = lists(
        CLEANUP_RUN_TESTS,
        f"{RUNS_PATH}/{{id}}/tests",
        id="listCleanupRunTests",
        tag="analysis",
        summary="Tests that a cleanup found",
        parameters=(_RUN_ID,),
        in_path=_run,
    )

    @reads(
        f"{RUNS_PATH}/{{id}}",
        id="getCleanupRun",
        tag="analysis",
        summary="A cleanup and the tests that it found",
        answer=CleanupRunDetail,
        contexts=(CONTEXT,),
        parameters=(_RUN_ID,),
        errors=(404,),
    )
    async def run(self, question: Question) -> CleanupRunDetail:
        models, found = self._endpoint.models, _run(question.request)
        run = await CLEANUP_RUNS.one(models, "Cleanup run", "r.id = $1", found["run_id"])
        tests = await CLEANUP_RUN_TESTS.page(models, question.asked.with_(**found))
        return CleanupRunDetail(run, tests)

    @reads(
        LEDGER_PATH,
        id="getLedger",
        tag="analysis",
        summary="What a user was granted, charged and refunded",
        answer=Ledger,
        contexts=(CONTEXT,),
        kinds=LEDGER.kinds,
        parameters=(in_path("id", str, "The user's id."),),
        errors=(404,),
    )
    async def ledger(self, question: Question) -> Ledger:
        models, user_id = self._endpoint.models, text_in(question.request, "id")
        row = await models.fetch_one(CONTEXT, QUERIES["user"], user_id)
        if row is None and await models.existing([CONTEXT]):
            raise not_found("User")
        page = await LEDGER.page(models, question.asked.with_(user_id=user_id))
        return Ledger(None if row is None else _make_user(row), page.items, page.next)
