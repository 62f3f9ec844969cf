"""Does a read from request to answer: parses, compiles, queries PostgreSQL once, responds. Permissions are checked
before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import asyncpg
import structlog
from aiohttp import web

from drover.domain.errors import Code, DroverError
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.share import ShareBusy, StatementTooSlow
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError, unavailable
from drover.web.postgrest import sealed
from drover.web.postgrest.ast import Query
from drover.web.postgrest.compile import ANSWER_BYTES_MAX, compile_query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.prefer import parse_prefer
from drover.web.postgrest.respond import Page, apply_range, check_profile, choose_media, respond
from drover.web.postgrest.sight import Sight

READ_TIMEOUT_S: Final = 5.0

_THEIRS: Final = (asyncpg.DataError, asyncpg.ProgramLimitExceededError)
"""Errors that are the client's fault: only PostgreSQL can tell that a value is invalid."""
_NOT_NOW: Final = (
    *POSTGRES_AWAY,
    asyncpg.InternalClientError,
)
"""Errors that are not the client's fault: the read model is being made or swapped, or the server is unavailable or
misconfigured."""

log = structlog.stdlib.get_logger(__name__)


class Pool(Protocol):
    """The part of an asyncpg pool that is needed here."""

    async def fetchrow(self, query: str, *args: Any, timeout: float | None = None) -> Any: ...  # noqa: ASYNC109


class StaysSealed(DroverError):
    """A sealed value cannot be opened in this process, or not for this caller."""

    def __init__(self) -> None:
        super().__init__("The value is sealed, and this process has no key to open it")


async def keep_sealed(texts: Sequence[str]) -> sealed.Open:
    """An `Unseal` that opens nothing, so that sealed columns are shown as null."""

    def refuse(relation: str, column: str, text: str) -> bytes:
        raise StaysSealed

    return refuse


async def read(
    request: web.Request,
    relation: Relation,
    pool: Pool,
    *,
    sight: Sight | None = None,
    unseal: sealed.Unseal = keep_sealed,
) -> web.Response:
    """Answer a read.

    `sight`: the relations that the caller may embed, and the rows that it may see. Without it the caller embeds nothing
    and sees all rows. `unseal`: opens sealed columns, as far as this caller may see them.
    """
    headers = request.headers
    check_profile(headers, "Accept-Profile")
    media = choose_media(headers)
    preferences = parse_prefer(headers.getall("Prefer", ()))
    query = apply_range(parse_query(split_parameters(request.rel_url.raw_query_string)), headers)
    page = await fetch(relation, query, pool, sight=sight, count=preferences.count, unseal=unseal)
    return respond(page, media, preferences)


async def fetch(
    relation: Relation,
    query: Query,
    pool: Pool,
    *,
    sight: Sight | None = None,
    count: bool = False,
    unseal: sealed.Unseal = keep_sealed,
) -> Page:
    """Fetch the rows of a query. Raises 400 if the answer is too large, 503 if the read model is unavailable."""
    opening = sealed.plan_opening(relation, query, sight)
    bytes_max = ANSWER_BYTES_MAX if opening is None else sealed.ANSWER_BYTES_MAX
    if sight is not None and sight.bytes_max is not None:
        bytes_max = min(bytes_max, sight.bytes_max)
    compiled = compile_query(relation, query, sight=sight, count=count, bytes_max=bytes_max)
    try:
        row = await pool.fetchrow(compiled.sql, *compiled.parameters, timeout=READ_TIMEOUT_S)
    except _THEIRS as error:
        raise ApiError(400, error.sqlstate, str(error)) from error
    except StatementTooSlow as error:
        raise _too_slow(error.statement_s) from error
    except ShareBusy as error:
        raise unavailable("Too many reads with this key are under way", Code.OVERLOADED) from error
    except _NOT_NOW as error:
        log.warning("read_failed", relation=relation.name, error=repr(error))
        raise unavailable("The read model is unavailable at the moment") from error
    if row["body"] is None:
        raise _too_much(row["bytes"], bytes_max)
    body = row["body"] if opening is None else await sealed.open_answer(row["body"], opening, unseal)
    return Page(body, row["rows"], compiled.offset, row["total"])


def _too_much(bytes_: int, bytes_max: int) -> ApiError:
    return ApiError(
        400,
        "54000",
        f"The answer has {bytes_} bytes, more than {bytes_max}",
        hint="Ask for fewer columns or rows; limit embedded rows, too, as in jobs.limit=10.",
    )


def _too_slow(within_s: float) -> ApiError:
    return ApiError(
        503,
        "57014",
        f"The read took longer than {within_s:g} s, the limit of this key",
        hint="Ask for fewer rows, or filter by an indexed column such as id.",
    )


def unknown_relation(name: str) -> ApiError:
    return ApiError(404, "PGRST205", f"Could not find the table 'public.{name[:64]}' in the schema cache")
