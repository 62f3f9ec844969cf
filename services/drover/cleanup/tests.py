"""`/api/saju/tests`: people start tests and see theirs; workers complete and fail them."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import asyncpg
import msgspec
from aiohttp import web
from uuid_utils import uuid7

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.commands import CompleteTest, FailTest, StartTest
from drover.domain.analysis.state import TestStatus
from drover.domain.decider import Command
from drover.service.api_keys import Role
from drover.web.application import add_route
from drover.web.auth import Authenticator, Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import encode_json, invalid, unavailable
from drover.web.freshness import Freshness
from drover.web.permissions import Permissions, Verb

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


class _Start(msgspec.Struct, forbid_unknown_fields=True):
    user_id: str | None = None


class _Complete(msgspec.Struct, forbid_unknown_fields=True):
    result_ref: str | None = None


class _Fail(msgspec.Struct, forbid_unknown_fields=True):
    error_code: str | None = None
    error_message: str | None = None


_START: Final = Body(_Start)
_COMPLETE: Final = Body(_Complete)
_FAIL: Final = Body(_Fail)


class Tests:
    __test__ = False  # not one of pytest's

    def __init__(
        self, auth: Authenticator, permissions: Permissions, client: CommandClient, freshness: Freshness, pool: Any
    ) -> None:
        self._auth = auth
        self._permissions = permissions
        self._client = client
        self._freshness = freshness
        self._pool = pool

    def add_routes(self, app: web.Application) -> None:
        add_route(app, "GET", PATH, self.show)
        add_route(app, "POST", PATH, self.start)
        add_route(app, "POST", f"{PATH}/{{id}}/complete", self.complete)
        add_route(app, "POST", f"{PATH}/{{id}}/fail", self.fail)

    async def start(self, request: web.Request) -> web.Response:
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, OWN if principal.user_id else ALL, Verb.CREATE)
        raw = await _body(request)
        wish = _START.decode(raw) if raw else _Start()
        command = StartTest(str(uuid7()), _whose(principal, wish.user_id))
        return await self._send(request, principal, command, raw, 201)

    async def complete(self, request: web.Request) -> web.Response:
        principal = self._worker(request)
        raw = await _body(request)
        told = _COMPLETE.decode(raw) if raw else _Complete()
        return await self._send(request, principal, CompleteTest(_id(request), told.result_ref), raw, 200)

    async def fail(self, request: web.Request) -> web.Response:
        principal = self._worker(request)
        raw = await _body(request)
        told = _FAIL.decode(raw) if raw else _Fail()
        command = FailTest(_id(request), told.error_code, told.error_message)
        return await self._send(request, principal, command, raw, 200)

    def _worker(self, request: web.Request) -> Principal:
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, ALL, Verb.UPDATE)
        return principal

    async def _send(
        self, request: web.Request, principal: Principal, command: Command, raw: bytes, status: int
    ) -> web.Response:
        done = await self._client.send(command, request_origin(request, principal, raw=raw))
        return _json(done.result, status, self._client.position_headers(done.position))

    async def show(self, request: web.Request) -> web.Response:
        principal = self._auth.authenticate(request.headers)
        self._permissions.demand(principal, OWN if principal.user_id else ALL, Verb.READ)
        asked = _query(request)
        user_id = asked["user_id"] if principal.user_id is None else _whose(principal, asked["user_id"])
        await self._freshness.wait(request.headers, principal.name, ANALYSIS.context)
        try:
            rows = await self._pool.fetch(
                _TESTS, user_id, asked["status"], asked["before"], asked["limit"], timeout=READ_S
            )
            left = None if user_id is None else await self._pool.fetchrow(_REMAINING, user_id, timeout=READ_S)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise unavailable("The database does not answer") from error
        remaining = None if left is None else left["remaining_tests"]
        return _json({"tests": [dict(row) for row in rows], "remaining_tests": remaining}, 200, {})


def _whose(principal: Principal, asked_for: str | None) -> str:
    """A person speaks for themselves; the back office says for whom."""
    if principal.user_id is not None:
        if asked_for not in (None, principal.user_id):
            raise invalid("A person has tests of their own only", field="user_id", value=asked_for)
        return principal.user_id
    if asked_for is None:
        raise invalid("user_id is required", field="user_id")
    assert principal.role is Role.SERVICE_ROLE
    return asked_for


async def _body(request: web.Request) -> bytes:
    """All of it is optional; and of a body that is not there, its type says nothing."""
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
        raise invalid(f"status is one of {', '.join(TestStatus)}", field="status", value=asked["status"][:64])
    try:
        asked["before"] = None if asked["before"] is None else UUID(asked["before"])
    except ValueError:
        raise invalid("before is the id of a test", field="before", value=asked["before"][:64]) from None
    text = str(asked["limit"])
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= ROWS_MAX:
        raise invalid(f"limit is a number from 1 to {ROWS_MAX}", field="limit", value=text[:64])
    asked["limit"] = int(text)
    return asked


def _json(body: Any, status: int, headers: dict[str, str]) -> web.Response:
    return web.Response(body=encode_json(body), status=status, content_type="application/json", headers=headers)
