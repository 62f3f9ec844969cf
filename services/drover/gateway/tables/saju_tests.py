"""Writes of `saju_tests`, the tests of document 001. Here clients, not Drover, charge and refund users: they write
`users.remaining_tests`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from uuid_utils import uuid7

from drover.bus.messages import Accepted, Rejected
from drover.domain.analysis.commands import ChangeTest, RecordTest
from drover.domain.analysis.state import TestStatus
from drover.gateway.rows import Row
from drover.gateway.writes.declaration import Insert, Merge, Target, Update, WriteTable, can_change, each
from drover.gateway.writes.edge import Edge
from drover.gateway.writes.forgotten_rows import forgotten_rows
from drover.gateway.writes.shown import recorded, stored
from drover.readmodel.models import RELATIONS
from drover.web.errors import invalid

RELATION: Final = "saju_tests"


class TestOutcome(msgspec.Struct, forbid_unknown_fields=True):
    """What a client may write about a test. An ended test cannot change."""

    __test__ = False  # pytest must not collect it

    status: TestStatus | UnsetType = UNSET
    result_ref: str | None = None
    error_code: str | None = None
    error_message: str | None = None


class NewTest(TestOutcome, kw_only=True):
    """A row of `saju_tests` as a client writes it. Without a status it is `processing`."""

    user_id: str
    id: UUID | UnsetType = UNSET
    created_at: datetime | None = None
    """When the test was started. A time without an offset is UTC."""


def _record(edge: Edge, row: NewTest) -> RecordTest:
    return RecordTest(
        test_id=str(uuid7() if row.id is UNSET else row.id),
        user_id=row.user_id,
        status=TestStatus.PROCESSING if row.status is UNSET else row.status,
        created_at=_with_offset(row.created_at),
        result_ref=row.result_ref,
        error_code=row.error_code,
        error_message=row.error_message,
    )


def _with_offset(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _recorded(edge: Edge, command: RecordTest, done: Accepted) -> Row:
    relation = RELATIONS[RELATION]
    return dict.fromkeys(relation.columns) | {"id": command.test_id, "refunded": False} | recorded(relation, done)


def _as_sent(command: RecordTest, refused: Rejected) -> ChangeTest:
    return ChangeTest(command.test_id, command.status, command.result_ref, command.error_code, command.error_message)


def _change(change: TestOutcome, target: Target) -> ChangeTest:
    assert change.status is not UNSET
    return ChangeTest(
        target.id,
        change.status,
        change.result_ref,
        change.error_code,
        change.error_message,
        only_if=target.fence("status"),
    )


def _require_status(change: TestOutcome) -> None:
    if change.status is UNSET:
        raise invalid("status is required", field="status")


SAJU_TESTS: Final = WriteTable(
    relation=RELATION,
    client=lambda edge, command: edge.analysis,
    insert=Insert(
        shape=NewTest,
        command=_record,
        show=_recorded,
        names={"test_id": "id"},
        merge=Merge(_as_sent, ("id",), show=stored(RELATION)),
        # If a forgotten test was recorded again, it could be refunded again.
        forgotten=forgotten_rows(RELATION, ended_at="completed_at", without_postgres=False),
    ),
    update=Update(
        shape=TestOutcome,
        apply=each(_change, check=_require_status),
        show=stored(RELATION),
        hint=can_change(TestOutcome),
    ),
    fence=("status",),
)
