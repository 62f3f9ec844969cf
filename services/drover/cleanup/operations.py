"""The routes of the cleanup service, described: system, tests, users."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from drover.cleanup import people, tests, users
from drover.domain.analysis.state import TestStatus
from drover.web.openapi.operation import (
    IDEMPOTENCY_KEY,
    MIN_POSITION,
    POSITION,
    Answer,
    Operation,
    Parameter,
    in_path,
)


class Cleaned(msgspec.Struct):
    message: str
    cleaned_count: int
    users_affected: list[str]


class SystemHealth(msgspec.Struct):
    status: str
    """`healthy` or `unhealthy`."""
    timestamp: str
    version: str
    services: dict[str, str]
    """By dependency: `connected`, `reachable`, `error`, `timeout` or `not_configured`."""


class Test(msgspec.Struct):
    __test__ = False  # not one of pytest's

    id: UUID
    user_id: str
    status: TestStatus
    error_code: str | None
    error_message: str | None
    result_ref: str | None
    refunded: bool
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None


class TestList(msgspec.Struct):
    __test__ = False

    tests: list[Test]
    remaining_tests: int | None
    """Of the user that was asked for; null where that is nobody in particular."""


class TestAnswer(msgspec.Struct):
    """What of a test was just recorded."""

    __test__ = False

    id: UUID
    user_id: str
    status: TestStatus
    created_at: datetime | UnsetType = UNSET
    updated_at: datetime | UnsetType = UNSET
    completed_at: datetime | UnsetType = UNSET
    result_ref: str | UnsetType | None = UNSET
    error_code: str | UnsetType | None = UNSET
    error_message: str | UnsetType | None = UNSET
    remaining_tests: int | UnsetType = UNSET


class UserAnswer(msgspec.Struct):
    """What of a user was just recorded."""

    id: str
    tier: str | UnsetType = UNSET
    remaining_tests: int | UnsetType = UNSET
    frozen: bool | UnsetType = UNSET
    created_at: datetime | UnsetType = UNSET
    updated_at: datetime | UnsetType = UNSET


class StartTest(tests._Start):
    """All of it is optional: a person starts their own."""


class CompleteTest(tests._Complete):
    """What a worker says of a test that is done."""


class FailTest(tests._Fail):
    """What a worker says of a test that failed."""


class RegisterUser(users._Register):
    """A user, by an id that says nothing of who it is."""


class ChangeUser(users._Change):
    """What is given changes."""


def _write(
    path: str, id: str, summary: str, body: Any, answer: Any, *, status: int = 200, optional: bool = False, **more: Any
) -> Operation:
    return Operation(
        method=more.pop("method", "POST"),
        path=path,
        id=id,
        tag="saju",
        summary=summary,
        body=body,
        body_optional=optional,
        parameters=(*more.pop("parameters", ()), IDEMPOTENCY_KEY),
        answers={status: Answer(answer, "Recorded", headers=POSITION)},
        errors=(400, 404, 409, 413, 415, 422, 503, *more.pop("errors", ())),
        **more,
    )


_TEST_ID: Final = (in_path("id", UUID, "Of the test."),)
OPERATIONS: Final = (
    Operation(
        method="POST",
        path="/api/system/cleanup-tests",
        id="cleanUpTests",
        tag="system",
        summary="Clean up stalled tests now",
        description="The secret of cron is in X-Cron-Secret, or is the bearer token.",
        answers={200: Answer(Cleaned, "Cleaned up")},
        errors=(500,),
        caller="cron secret",
    ),
    Operation(
        method="POST",
        path=people.PATH,
        id="runCleanup",
        tag="saju",
        summary="Clean up stalled tests now, as a person",
        description="Waits for its end. It may be asked for again at any time: what was cleaned up stays so.",
        answers={201: Answer(people.CleanupDone, "Cleaned up")},
        errors=(500,),
    ),
    Operation(
        method="GET",
        path="/api/system/health",
        id="getSystemHealth",
        tag="system",
        summary="How each dependency is",
        answers={200: Answer(SystemHealth, "All is well"), 503: Answer(SystemHealth, "Something is not")},
        caller="anybody",
    ),
    Operation(
        method="GET",
        path=tests.PATH,
        id="listTests",
        tag="saju",
        summary="Tests, newest first: a person's own, or any",
        parameters=(
            Parameter("user_id", str, "Of this user."),
            Parameter("status", TestStatus, "In this state."),
            Parameter("before", UUID, "Older than this test: the last one of the page before."),
            Parameter("limit", Annotated[int, Meta(ge=1, le=tests.ROWS_MAX)], "Rows in the answer."),
            MIN_POSITION,
        ),
        answers={200: Answer(TestList)},
        errors=(400, 503),
    ),
    _write(tests.PATH, "startTest", "Start a test", StartTest, TestAnswer, status=201, optional=True, errors=(402,)),
    _write(
        f"{tests.PATH}/{{id}}/complete",
        "completeTest",
        "A worker is done",
        CompleteTest,
        TestAnswer,
        optional=True,
        parameters=_TEST_ID,
    ),
    _write(
        f"{tests.PATH}/{{id}}/fail",
        "failTest",
        "A worker failed",
        FailTest,
        TestAnswer,
        optional=True,
        parameters=_TEST_ID,
    ),
    _write(users.PATH, "registerUser", "Register a user", RegisterUser, UserAnswer, status=201),
    _write(
        f"{users.PATH}/{{id}}",
        "changeUser",
        "Grant tests, set the tier, freeze",
        ChangeUser,
        UserAnswer,
        method="PATCH",
        parameters=(in_path("id", str, "Of the user."),),
    ),
)
