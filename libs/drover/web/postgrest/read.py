"""A read from request to answer: parse, compile, ask PostgreSQL once, respond. Who may read is decided before."""

from __future__ import annotations

from typing import Any, Final, Protocol

import asyncpg
import structlog
from aiohttp import web

from drover.web.errors import ApiError, unavailable
from drover.web.postgrest.compile import ANSWER_BYTES_MAX, compile_query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.prefer import parse_prefer
from drover.web.postgrest.relation import Relation, Sight
from drover.web.postgrest.respond import Page, apply_range, check_profile, choose_media, respond

READ_TIMEOUT_S: Final = 5.0

_THEIRS: Final = (asyncpg.DataError, asyncpg.ProgramLimitExceededError)
"""A value that only PostgreSQL could tell to be none of its type."""
_NOT_NOW: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""All else is ours: the read model is being made or swapped, or the server is away or not as it should be."""

log = structlog.stdlib.get_logger(__name__)


class Pool(Protocol):
    """What is needed of an asyncpg pool."""

    async def fetchrow(self, query: str, *args: Any, timeout: float | None = None) -> Any: ...  # noqa: ASYNC109


async def read(request: web.Request, relation: Relation, pool: Pool, *, sight: Sight | None = None) -> web.Response:
    """`sight`: what the caller may embed, and which rows it may see. Without one it embeds nothing and sees all."""
    headers = request.headers
    check_profile(headers, "Accept-Profile")
    media = choose_media(headers)
    preferences = parse_prefer(headers.getall("Prefer", ()))
    query = apply_range(parse_query(split_parameters(request.rel_url.raw_query_string)), headers)
    compiled = compile_query(relation, query, sight=sight, count=preferences.count)
    try:
        row = await pool.fetchrow(compiled.sql, *compiled.parameters, timeout=READ_TIMEOUT_S)
    except _THEIRS as error:
        raise ApiError(400, error.sqlstate, str(error)) from error
    except _NOT_NOW as error:
        log.warning("read_failed", relation=relation.name, error=repr(error))
        raise unavailable("The read model cannot be read at the moment") from error
    if row["body"] is None:
        raise _too_much(row["bytes"])
    return respond(Page(row["body"], row["rows"], compiled.offset, row["total"]), media, preferences)


def _too_much(bytes_: int) -> ApiError:
    return ApiError(
        400,
        "54000",
        f"The answer has {bytes_} bytes, more than {ANSWER_BYTES_MAX}",
        hint="Ask for fewer columns or rows; an embed has a limit of its own, as in jobs.limit=10.",
    )


def unknown_relation(name: str) -> ApiError:
    return ApiError(404, "PGRST205", f"Could not find the table 'public.{name[:64]}' in the schema cache")
