"""`/api/saju/tests`: people start and list their tests; workers complete or fail them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from aiohttp import web
from msgspec import UNSET, Meta, UnsetType
from uuid_utils import uuid7

from drover.domain.analysis import ANALYSIS, commands
from drover.domain.analysis.state import TestStatus
from drover.postgres.errors import POSTGRES_AWAY
from drover.readmodel.form import placed
from drover.web.answers import json_answer
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient
from drover.web.errors import invalid, unavailable
from drover.web.freshness import Freshness
from drover.web.owner import owner_of, quota_of
from drover.web.permissions import Verb
from drover.web.query import read_number, refuse_unknown
from drover.web.route import (
    BEHIND,
    MIN_POSITION,
    Answer,
    Parameter,
    Permission,
    Route,
    handles,
    in_path,
    recorded,
    write,
)

PATH: Final = "/api/saju/tests"
OWN: Final = "my_tests"
ALL: Final = "saju_tests"
ROWS_DEFAULT: Final = 50
ROWS_MAX: Final = 500
READ_S: Final = 5.0

_TESTS: Final = """
SELECT id, user_id, status, error_code, error_message, result_ref, refunded, created_at, updated_at, completed_at
FROM rm_analysis.saju_tests
WHERE ($1::text IS NULL OR user_id = $1)
  AND ($2::text IS NULL OR status = $2)
  AND ($3::uuid IS NULL OR (created_at, id) < (SELECT created_at, id FROM rm_analysis.saju_tests WHERE id = $3))
ORDER BY created_at DESC, id DESC
LIMIT $4
"""
_REMAINING: Final = "SELECT remaining_tests FROM rm_analysis.users WHERE id = $1"


class StartTest(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to start a test. `user_id` is optional: without it, people start a test of their own."""

    user_id: str | None = None


class CompleteTest(msgspec.Struct, forbid_unknown_fields=True):
    """A worker's report of a completed test."""

    result_ref: str | None = None


class FailTest(msgspec.Struct, forbid_unknown_fields=True):
    """A worker's report of a failed test."""

    error_code: str | None = None
    error_message: str | None = None


class Test(msgspec.Struct):
    __test__ = False  # pytest must not collect it

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
    """Tests that the requested user has left; null if no single user was requested."""


class TestAnswer(msgspec.Struct):
    """The fields of a test that the request has just changed."""

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


_START: Final = Body(StartTest)
_COMPLETE: Final = Body(CompleteTest)
_FAIL: Final = Body(FailTest)
_ID: Final = (in_path("id", UUID, "The id of the test."),)
_WORKER: Final = Permission(ALL, Verb.UPDATE)


class SajuTests:
    def __init__(self, client: CommandClient, freshness: Freshness, pool: Any, *, events_per_day: int) -> None:
        """`events_per_day`: the quota of an end user."""
        self._client = client
        self._freshness = freshness
        self._pool = pool
        self._events_per_day = events_per_day

    @handles(
        write(
            path=PATH,
            id="startTest",
            tag="saju",
            summary="Start a test",
            permission=Permission(ALL, Verb.CREATE, own=OWN),
            body=StartTest,
            body_optional=True,
            answers={201: recorded(TestAnswer)},
            errors=(402, 409),
        )
    )
    async def start(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await _body(request)
        wish = _START.decode(raw) if raw else StartTest()
        owner = owner_of(principal, wish.user_id, what="tests")
        command = commands.StartTest(str(uuid7()), owner, quota=quota_of(principal, self._events_per_day))
        return await self._client.answer(command, request, principal, raw=raw, status=201)

    @handles(
        write(
            path=f"{PATH}/{{id}}/complete",
            id="completeTest",
            tag="saju",
            summary="Complete a test, as a worker",
            permission=_WORKER,
            parameters=_ID,
            body=CompleteTest,
            body_optional=True,
            answers={200: recorded(TestAnswer)},
            errors=(409,),
        )
    )
    async def complete(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await _body(request)
        told = _COMPLETE.decode(raw) if raw else CompleteTest()
        command = commands.CompleteTest(_id(request), told.result_ref)
        return await self._client.answer(command, request, principal, raw=raw)

    @handles(
        write(
            path=f"{PATH}/{{id}}/fail",
            id="failTest",
            tag="saju",
            summary="Fail a test, as a worker",
            permission=_WORKER,
            parameters=_ID,
            body=FailTest,
            body_optional=True,
            answers={200: recorded(TestAnswer)},
            errors=(409,),
        )
    )
    async def fail(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await _body(request)
        told = _FAIL.decode(raw) if raw else FailTest()
        command = commands.FailTest(_id(request), told.error_code, told.error_message)
        return await self._client.answer(command, request, principal, raw=raw)

    @handles(
        Route(
            method="GET",
            path=PATH,
            id="listTests",
            tag="saju",
            summary="List tests, newest first: a person's own, or all",
            permission=Permission(ALL, Verb.READ, own=OWN),
            parameters=(
                Parameter("user_id", str, "Only tests of this user."),
                Parameter("status", TestStatus, "Only tests with this status."),
                Parameter("before", UUID, "Only tests older than this one: the last test of the previous page."),
                Parameter("limit", Annotated[int, Meta(ge=1, le=ROWS_MAX)], "The number of rows in the answer."),
                MIN_POSITION,
            ),
            answers={200: Answer(TestList, headers=BEHIND)},
            errors=(400, 503),
        )
    )
    async def show(self, request: web.Request, principal: Principal) -> web.Response:
        asked = _query(request)
        user_id = asked["user_id"]
        if principal.user_id is not None:
            user_id = owner_of(principal, user_id, what="tests")
        awaited = await self._freshness.wait(request.headers, ANALYSIS.context)
        try:
            rows = await self._pool.fetch(
                placed(_TESTS), user_id, asked["status"], asked["before"], asked["limit"], timeout=READ_S
            )
            left = None if user_id is None else await self._pool.fetchrow(placed(_REMAINING), user_id, timeout=READ_S)
        except POSTGRES_AWAY as error:
            raise unavailable("The database does not answer") from error
        remaining = None if left is None else left["remaining_tests"]
        body = {"tests": [dict(row) for row in rows], "remaining_tests": remaining}
        return json_answer(body, headers=awaited.headers)


async def _body(request: web.Request) -> bytes:
    """Read the body, which is optional. An empty one may have any content type."""
    return await read_body(request) if request.body_exists else b""


def _id(request: web.Request) -> str:
    return request.match_info["id"].lower()


def _query(request: web.Request) -> dict[str, Any]:
    asked: dict[str, Any] = {"user_id": None, "status": None, "before": None, "limit": None}
    refuse_unknown(request.query, asked)
    asked.update(request.query.items())
    if asked["status"] not in (None, *TestStatus):
        raise invalid(f"status must be one of {', '.join(TestStatus)}", field="status", value=asked["status"][:64])
    try:
        asked["before"] = None if asked["before"] is None else UUID(asked["before"])
    except ValueError:
        raise invalid("before must be the id of a test", field="before", value=asked["before"][:64]) from None
    asked["limit"] = read_number(asked, "limit", default=ROWS_DEFAULT, least=1, most=ROWS_MAX)
    return asked
