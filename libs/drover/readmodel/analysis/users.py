"""Users, their tests, and the ledger of their balance: the rows, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Final
from uuid import UUID

from drover.domain.analysis.state import TestStatus
from drover.readmodel.column import BigInt, words
from drover.readmodel.relation import View, many, one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index, KeyedTable

_analysis = partial(relation, "analysis")


class UserRow(Row, frozen=True):
    """A user with tier and balance, without personal data."""

    id: str
    tier: str
    remaining_tests: int
    frozen: bool
    granted: BigInt
    """All tests ever granted, including the initial ones: remaining = granted + adjusted - charged + refunded."""
    adjusted: BigInt
    """The sum of all changes by callers that wrote the balance through this table."""
    charged: BigInt
    refunded: BigInt
    created_at: datetime
    updated_at: datetime


class TestRow(Row, frozen=True):
    """A test of a user, and its outcome. The row stays after the decider has forgotten the test."""

    __test__ = False  # not a pytest class

    id: UUID
    user_id: str
    status: TestStatus
    reason: Annotated[str, words("worker", "timeout", "caller")] | None
    """Who failed the test: its `worker`, a cleanup after a `timeout`, or a `caller` who wrote this row."""
    error_code: str | None
    error_message: str | None
    result_ref: str | None
    refunded: bool
    cleanup_run_id: UUID | None
    skipped: str | None
    """The reason why the test could not be refunded at the last try."""
    late_report: str | None
    """What a worker reported after the end of the test, without effect."""
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None


class LedgerEntry(Row, frozen=True):
    """A change of a user's balance."""

    id: BigInt
    """The id, computed from the position of the event in the log: sequence of the commit * 65536 + line."""
    kind: str
    """The kind of change: `initial`, `grant`, `charge`, `refund`, or `adjustment` if a caller wrote the balance."""
    amount: int
    remaining_tests: int
    """Tests that the user has left after this change."""
    test_id: UUID | None
    cleanup_run_id: UUID | None
    by: str
    created_at: datetime


class LedgerRow(LedgerEntry, frozen=True):
    """A change of a user's balance. The sum of all `amount` of a user is `remaining_tests`."""

    user_id: str


USERS: Final = KeyedTable(
    name="user_rows",
    row=UserRow,
    key=("id",),
    fillfactor=70,
    indices=(
        Index("user_rows_tier", "tier"),
        Index("user_rows_id_prefix", "lower(id) text_pattern_ops", why="search by the beginning of an id"),
    ),
)
TESTS: Final = KeyedTable(
    name="test_rows",
    row=TestRow,
    key=("id",),
    fillfactor=70,
    indices=(
        Index("test_rows_user_id", "user_id, created_at"),
        Index("test_rows_status", "status, created_at"),
        Index("test_rows_created_at", "created_at"),
        Index("test_rows_completed_at", "completed_at"),
    ),
)
LEDGER: Final = AppendTable(
    name="test_ledger",
    row=LedgerRow,
    key=("id",),
    indices=(
        Index("test_ledger_user_id", "user_id, id"),
        Index("test_ledger_test_id", "test_id", where="test_id IS NOT NULL"),
    ),
)

RELATIONS: Final = (
    _analysis(
        "saju_tests",
        TestRow,
        view=View("test_rows", "t"),
        embeds=(one("users", "user_id"), one("cleanup_runs", "cleanup_run_id"), many("test_ledger", "test_id")),
    ),
    _analysis(
        "users",
        UserRow,
        view=View("user_rows", "u"),
        embeds=(many("saju_tests", "user_id"), many("test_ledger", "user_id")),
    ),
    _analysis("test_ledger", LedgerRow, embeds=(one("users", "user_id"), one("saju_tests", "test_id"))),
)
