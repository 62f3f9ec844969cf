"""A page of a list of the identity read model, for admins: API keys, enrolment codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from drover.api.identity.client import IdentityClient
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.readmodel.form import placed
from drover.web.errors import unavailable
from drover.web.query import read_number
from drover.web.route import Parameter

PAGE_MAX: Final = 500
OFFSET_MAX: Final = 1_000_000
QUERY_S: Final = 5.0
PAGE_PARAMETERS: Final = (
    Parameter("limit", int, f"At most {PAGE_MAX}."),
    Parameter("offset", int, "How many to skip."),
)


async def read_page(
    request: web.Request, client: IdentityClient, pool: Pool, statement: str
) -> tuple[Sequence[Any], Mapping[str, str]]:
    """Return the rows that the request asks for, and the headers of the answer. `statement` takes limit and offset."""
    limit = read_number(request.query, "limit", default=PAGE_MAX, least=0, most=PAGE_MAX)
    offset = read_number(request.query, "offset", default=0, least=0, most=OFFSET_MAX)
    behind = await client.readable(request.headers)
    try:
        return await pool.fetch(placed(statement), limit, offset, timeout=QUERY_S), behind
    except POSTGRES_AWAY as error:
        raise unavailable("The read model is unavailable") from error
