"""`GET /rest/v1/export/<relation>.<csv|json>`: all rows of a search as a file, with the rights and filters of reads.

The rows are read through a cursor in one transaction, so that they are of one moment, and sent as they are read. Every
export is recorded in the audit before its first row is sent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Literal

import asyncpg
import msgspec
import structlog
from aiohttp import web

from drover.domain.errors import Code
from drover.domain.identity.audit import AccessKind
from drover.gateway.reads import SENSITIVE, Opener, shows
from drover.postgres.errors import POSTGRES_AWAY
from drover.readmodel.models import RELATIONS
from drover.readmodel.relation import Relation
from drover.service.access_tokens import PEOPLE
from drover.web.audit import Audit
from drover.web.auth import Principal
from drover.web.errors import ApiError, unavailable
from drover.web.export_formats import Format, answer, head, headers, piece, tail
from drover.web.freshness import Freshness
from drover.web.permissions import EXPORTS, Permissions, Verb
from drover.web.postgrest import sealed
from drover.web.postgrest.ast import Column, Count, Embed, Query
from drover.web.postgrest.compile import Export, compile_export
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.read import unknown_relation
from drover.web.postgrest.sealed import Unseal
from drover.web.route import BEHIND, MIN_POSITION, Permission, Route, handles, in_path

EXPORT_ROWS_MAX: Final = 50_000
"""The maximum number of rows in an export. The answer says if there are more."""
EXPORTS_MAX: Final = 2
"""How many exports a process makes at the same time: each holds a connection to the database."""
EXPORTS_PER_PERSON_MAX: Final = 1
"""How many of these may be of one person, so that one who reads slowly does not take the places of all. Programs with
the service key are not told apart, so they are not limited like this."""
EXPORT_S: Final = 120.0
"""Within how many seconds an export must be made and read by its client."""
CHUNK_ROWS: Final = 1_000
CHUNK_BYTES: Final = 1024 * 1024
"""An export is made in chunks: each ends with the row with which it has so many bytes, or so many rows."""
STEP_ROWS: Final = 32
ROW_BYTES_MAX: Final = 1024 * 1024
"""The maximum size of a row, which may have others embedded. So many rows are read at a time: 32 MiB at most."""
STATEMENT_S: Final = 30.0

_THEIRS: Final = (asyncpg.DataError, asyncpg.ProgramLimitExceededError)
_NOT_NOW: Final = (*POSTGRES_AWAY, asyncpg.InternalClientError)

log = structlog.stdlib.get_logger(__name__)


class Exports:
    def __init__(
        self,
        permissions: Permissions,
        pool: Any,
        freshness: Freshness,
        unseal: Callable[[Principal], Unseal],
        audit: Audit | None = None,
    ) -> None:
        """`pool`: an asyncpg pool. `audit`: None, which only tests use: nothing is recorded."""
        self._permissions = permissions
        self._pool = pool
        self._freshness = freshness
        self._unseal = unseal
        self._audit = audit
        self._under_way: Counter[str] = Counter()
        """How many exports of each caller are being made."""

    @handles(
        Route(
            method="GET",
            path="/rest/v1/export/{relation}.{format}",
            id="exportRows",
            tag="rest",
            summary="All rows of a search as a file",
            description=(
                "The parameters are those of `GET /rest/v1/<relation>`. A file has at most"
                f" {EXPORT_ROWS_MAX:,} rows; `Drover-Export-Cut` says if there are more. CSV is UTF-8 with a byte order"
                " mark, and texts that a spreadsheet would calculate begin with an apostrophe."
            ),
            permission=Permission(EXPORTS, Verb.READ),
            parameters=(
                in_path("relation", str, "The relation, such as `jobs`."),
                in_path("format", Literal["csv", "json"], "The format of the file."),
                MIN_POSITION,
            ),
            answers={200: answer(list[dict[str, Any]], headers=BEHIND)},
            errors=(400, 404, 503),
        )
    )
    async def get(self, request: web.Request, principal: Principal) -> web.StreamResponse:
        relation, format_ = _asked(request)
        self._permissions.demand(principal, relation.name, Verb.READ)
        query = parse_query(split_parameters(request.rel_url.raw_query_string))
        if any(isinstance(item, Count) for item in query.select):
            raise ApiError(400, "PGRST100", "An export has rows; read a count with GET /rest/v1")
        sight = self._permissions.sight(principal, RELATIONS)
        export = compile_export(relation, query, rows_max=EXPORT_ROWS_MAX, row_bytes_max=ROW_BYTES_MAX, sight=sight)
        opening = sealed.plan_opening(relation, query, sight)
        opener = Opener(self._unseal(principal))
        with self._place(principal):
            awaited = await self._freshness.wait(request.headers, *relation.contexts)
            await self._record(request, principal, AccessKind.EXPORT)
            for name, kind in SENSITIVE.items():
                if name in sight.relations and shows(relation, request, name):
                    await self._record(request, principal, kind)
            file = _File(request, relation.name, format_, columns_of(relation, query), awaited.headers)
            try:
                async with asyncio.timeout(EXPORT_S), _reading(self._pool, export) as (count, cursor):
                    while rows := await _next(cursor, opening, opener):
                        if opener.has_opened_gfx_data:  # before the caller sees it
                            await self._record(request, principal, AccessKind.GFX_DATA)
                        await file.write(count, rows)
                    return await file.end(count)
            except (ApiError, *_NOT_NOW) as error:
                raise _fault(error, request, is_begun=file.is_begun) from error

    @contextmanager
    def _place(self, principal: Principal) -> Iterator[None]:
        by = principal.name
        if principal.role in PEOPLE and self._under_way[by] >= EXPORTS_PER_PERSON_MAX:
            raise unavailable("Another export of yours is under way", Code.OVERLOADED)
        if self._under_way.total() >= EXPORTS_MAX:
            raise unavailable("Other exports are under way", Code.OVERLOADED)
        self._under_way[by] += 1
        try:
            yield
        finally:
            self._under_way[by] -= 1
            if not self._under_way[by]:
                del self._under_way[by]

    async def _record(self, request: web.Request, principal: Principal, kind: AccessKind) -> None:
        if self._audit is not None:
            await self._audit.read(request, principal, kind)


class _File:
    """A file that is sent piece by piece. Its headers go out with the first piece: until then, an error is an answer of
    its own."""

    def __init__(
        self, request: web.Request, name: str, format_: Format, columns: Sequence[str], more: Mapping[str, str]
    ) -> None:
        self._request = request
        self._name = name
        self._format = format_
        self._columns = columns
        self._more = more
        self._answer: web.StreamResponse | None = None
        self._is_first = True

    @property
    def is_begun(self) -> bool:
        return self._answer is not None

    async def write(self, count: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """`count`: how many rows the search has, counted up to one more than may be exported."""
        answer = await self._begun(count)
        part = await asyncio.to_thread(piece, self._format, self._columns, rows, is_first=self._is_first)
        self._is_first = False
        await answer.write(part)

    async def end(self, count: int) -> web.StreamResponse:
        answer = await self._begun(count)
        await answer.write(tail(self._format))
        return answer

    async def _begun(self, count: int) -> web.StreamResponse:
        if self._answer is None:
            rows, is_cut = min(count, EXPORT_ROWS_MAX), count > EXPORT_ROWS_MAX
            told = headers(self._name, self._format, rows=rows, is_cut=is_cut, now=datetime.now(UTC))
            self._answer = web.StreamResponse(headers={**told, **self._more})
            await self._answer.prepare(self._request)
            await self._answer.write(head(self._format, self._columns))
        return self._answer


@asynccontextmanager
async def _reading(pool: Any, export: Export) -> AsyncIterator[tuple[int, Any]]:
    """Count the rows, and open a cursor on them, in one transaction: both see the same moment."""
    async with (
        pool.acquire(timeout=STATEMENT_S) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        count = await connection.fetchval(export.count.sql, *export.count.parameters, timeout=STATEMENT_S)
        cursor = await connection.cursor(export.rows.sql, *export.rows.parameters, timeout=STATEMENT_S)
        yield count, cursor


async def _next(cursor: Any, opening: sealed.Opening | None, opener: Opener) -> list[dict[str, Any]]:
    body = f"[{','.join(await _chunk(cursor))}]"
    if opening is not None:
        body = await sealed.open_answer(body, opening, opener)
    return await asyncio.to_thread(msgspec.json.decode, body, type=list[dict[str, Any]])


async def _chunk(cursor: Any) -> list[str]:
    """Read the next rows, as JSON. None are left if the list is empty."""
    rows: list[str] = []
    bytes_ = 0
    while bytes_ < CHUNK_BYTES and len(rows) < CHUNK_ROWS:
        wanted = min(STEP_ROWS, CHUNK_ROWS - len(rows))
        found = [record["body"] for record in await cursor.fetch(wanted, timeout=STATEMENT_S)]
        if None in found:
            raise ApiError(
                400,
                "54000",
                f"A row has more than {ROW_BYTES_MAX} bytes",
                hint="Ask for fewer columns; limit embedded rows, as in jobs.limit=10, or export them themselves.",
            )
        rows += found
        bytes_ += sum(map(len, found))
        if len(found) < wanted:
            break
    return rows


def _asked(request: web.Request) -> tuple[Relation, Format]:
    name, format_ = request.match_info["relation"], request.match_info["format"]
    if format_ not in [*Format]:
        raise ApiError(404, "NOT_FOUND", "An export is .csv or .json")
    relation = RELATIONS.get(name)
    if relation is None:
        raise unknown_relation(name)
    return relation, Format(format_)


def columns_of(relation: Relation, query: Query) -> list[str]:
    """Return the names of the columns, in the order of `select`."""
    names: list[str] = []
    for item in query.select:
        if isinstance(item, Embed):
            names += [item.key] if item.query.select else []
        elif isinstance(item, Column):
            names.append(item.alias or item.name)
        else:
            names += relation.columns
    return list(dict.fromkeys(names))


def _fault(error: Exception, request: web.Request, *, is_begun: bool) -> Exception:
    """Return the error to raise. Once a part was sent, only a cut connection tells the client that the rest is
    missing."""
    if is_begun:
        log.warning("export_cut", path=request.path, error=repr(error))
        if request.transport is not None:
            request.transport.abort()
        return ConnectionResetError("The export failed half-way")
    if isinstance(error, _THEIRS):
        return ApiError(400, error.sqlstate, str(error))
    if isinstance(error, ApiError):
        return error
    log.warning("export_failed", path=request.path, error=repr(error))
    if isinstance(error, TimeoutError):
        return unavailable("The export took too long: narrow the search")
    return unavailable("The read model is unavailable at the moment")
