"""`/api/saju/tests`: people start and list their tests; workers complete or fail them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import asyncpg
import msgspec
from aiohttp import web
from msgspec import UNSET, Meta, UnsetType
from uuid_utils import uuid7

from drover.cleanup.writes import write
from drover.domain.analysis import ANALYSIS, commands
from drover.domain.analysis.state import TestStatus
from drover.domain.decider import Command
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import encode_json, invalid, unavailable
from drover.web.freshness import Freshness
from drover.web.permissions import Verb
from drover.web.route import BEHIND, MIN_POSITION, Answer, Parameter, Permission, Route, handles, in_path

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
    """All fields are optional: a person starts their own test."""

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
    """The fields of a test that were just recorded."""

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
    def __init__(self, client: CommandClient, freshness: Freshness, pool: Any) -> None:
        self._client = client
        self._freshness = freshness
        self._pool = pool

    @handles(
        write(
            path=PATH,
            id="startTest",
            summary="Start a test",
            permission=Permission(ALL, Verb.CREATE, own=OWN),
            body=StartTest,
            body_optional=True,
            answer=TestAnswer,
            status=201,
            errors=(402,),
        )
    )
    async def start(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await _body(request)
        wish = _START.decode(raw) if raw else StartTest()
        command = commands.StartTest(str(uuid7()), _whose(principal, wish.user_id))
        return await self._send(request, principal, command, raw, 201)

    @handles(
        write(
            path=f"{PATH}/{{id}}/complete",
            id="completeTest",
            summary="Complete a test, as a worker",
            permission=_WORKER,
            parameters=_ID,
            body=CompleteTest,
            body_optional=True,
            answer=TestAnswer,
        )
    )
    async def complete(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await _body(request)
        told = _COMPLETE.decode(raw) if raw else CompleteTest()
        return await self._send(request, principal, commands.CompleteTest(_id(request), told.result_ref), raw, 200)

    @handles(
        write(
            path=f"{PATH}/{{id}}/fail",
            id="failTest",
            summary="Fail a test, as a worker",
            permission=_WORKER,
            parameters=_ID,
            body=FailTest,
            body_optional=True,
            answer=TestAnswer,
        )
    )
    async def fail(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await _body(request)
        told = _FAIL.decode(raw) if raw else FailTest()
        command = commands.FailTest(_id(request), told.error_code, told.error_message)
        return await self._send(request, principal, command, raw, 200)

    async def _send(
        self, request: web.Request, principal: Principal, command: Command, raw: bytes, status: int
    ) -> web.Response:
        done = await self._client.send(command, request_origin(request, principal, raw=raw))
        return _json(done.result, status, self._client.position_headers(done.position))

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
        user_id = asked["user_id"] if principal.user_id is None else _whose(principal, asked["user_id"])
        awaited = await self._freshness.wait(request.headers, ANALYSIS.context)
        try:
            rows = await self._pool.fetch(
                _TESTS, user_id, asked["status"], asked["before"], asked["limit"], timeout=READ_S
            )
            left = None if user_id is None else await self._pool.fetchrow(_REMAINING, user_id, timeout=READ_S)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise unavailable("The database does not answer") from error
        remaining = None if left is None else left["remaining_tests"]
        return _json({"tests": [dict(row) for row in rows], "remaining_tests": remaining}, 200, awaited.headers)


def _whose(principal: Principal, asked_for: str | None) -> str:
    """The user of a request: a person acts for themselves, the back office names the user."""
    if principal.user_id is not None:
        if asked_for not in (None, principal.user_id):
            raise invalid("A person can only use their own tests", field="user_id", value=asked_for)
        return principal.user_id
    if asked_for is None:
        raise invalid("user_id is required", field="user_id")
    assert principal.role is Role.SERVICE_ROLE
    return asked_for


async def _body(request: web.Request) -> bytes:
    """The body is optional. If it is empty, ignore its content type."""
    return await read_body(request) if request.body_exists else b""


def _id(request: web.Request) -> str:
    return request.match_info["id"].lower()


def _query(request: web.Request) -> dict[str, Any]:
    asked: dict[str, Any] = {"user_id": None, "status": None, "before": None, "limit": ROWS_DEFAULT}
    for name, value in request.query.items():
        if name not in asked:
            raise invalid(f"{name[:64]} is not a known parameter", field=name[:64])
        asked[name] = value
    if asked["status"] not in (None, *TestStatus):
        raise invalid(f"status must be one of {', '.join(TestStatus)}", field="status", value=asked["status"][:64])
    try:
        asked["before"] = None if asked["before"] is None else UUID(asked["before"])
    except ValueError:
        raise invalid("before must be the id of a test", field="before", value=asked["before"][:64]) from None
    text = str(asked["limit"])
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= ROWS_MAX:
        raise invalid(f"limit must be a number from 1 to {ROWS_MAX}", field="limit", value=text[:64])
    asked["limit"] = int(text)
    return asked


def _json(body: Any, status: int, headers: Mapping[str, str]) -> web.Response:
    return web.Response(body=encode_json(body), status=status, content_type="application/json", headers=headers)
