"""The HTTP part of a read: reads profile, media type and range; sets status, Content-Range and body. No SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from aiohttp import web

from drover.web.errors import ApiError
from drover.web.postgrest.ast import Query
from drover.web.postgrest.grammar import ROW_NUMBER_MAX, out_of_range
from drover.web.postgrest.prefer import Preferences

SCHEMA: Final = "public"
OBJECT_TYPE: Final = "application/vnd.pgrst.object+json"
_ARRAY_TYPES: Final = frozenset(
    {"*/*", "application/*", "application/json", "application/vnd.pgrst.array+json", "text/json"}
)
_RANGE: Final = re.compile(r"(?:items=)?([0-9]{1,10})-([0-9]{0,10})", re.ASCII)

Media = Literal["array", "object"]


class Page(msgspec.Struct, frozen=True):
    """The rows of one answer, as the database returned them."""

    body: str
    """The rows as a JSON array."""
    rows: int
    offset: int
    total: int | None = None


def check_profile(headers: Mapping[str, str], header: Literal["Accept-Profile", "Content-Profile"]) -> None:
    """Refuse any schema but `public` with 406. Clients see all relations in that schema."""
    profile = headers.get(header, SCHEMA)
    if profile != SCHEMA:
        raise ApiError(
            406,
            "PGRST106",
            f"Invalid schema: {profile[:64]}",
            hint=f"Only the following schemas are exposed: {SCHEMA}",
        )


def choose_media(headers: Mapping[str, str]) -> Media:
    accept = headers.get("Accept", "*/*")
    types = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    for one in types:
        if one == OBJECT_TYPE:
            return "object"
        if one in _ARRAY_TYPES:
            return "array"
    raise ApiError(406, "PGRST107", f"None of these media types are available: {accept[:200]}")


def apply_range(query: Query, headers: Mapping[str, str]) -> Query:
    """Apply the header `Range: 0-24`, unless the query itself has a limit or offset."""
    header = headers.get("Range")
    if header is None or query.limit is not None or query.offset:
        return query
    match = _RANGE.fullmatch(header.strip())
    if match is None:
        return query
    first, last = int(match[1]), int(match[2]) if match[2] else None
    if first > ROW_NUMBER_MAX or (last is not None and last < first):
        raise out_of_range("The lower boundary must be lower than or equal to the upper boundary in the Range header.")
    limit = None if last is None else last - first + 1
    return msgspec.structs.replace(query, offset=first, limit=limit)


def respond(page: Page, media: Media, preferences: Preferences) -> web.Response:
    headers = {"Content-Range": content_range(page)}
    if preferences.applied:
        headers["Preference-Applied"] = preferences.applied
    if media == "object":
        if page.rows != 1:
            raise ApiError(
                406,
                "PGRST116",
                "Cannot coerce the result to a single JSON object",
                details=f"The result contains {page.rows} rows",
            )
        # The body is an array of one row; without its brackets it is the row.
        return web.Response(text=page.body.strip()[1:-1], headers=headers, content_type=OBJECT_TYPE, charset="utf-8")
    return web.Response(
        text=page.body, status=_status(page), headers=headers, content_type="application/json", charset="utf-8"
    )


def content_range(page: Page) -> str:
    total = "*" if page.total is None else str(page.total)
    return f"{page.offset}-{page.offset + page.rows - 1}/{total}" if page.rows else f"*/{total}"


def _status(page: Page) -> int:
    if page.total is None:
        return 200
    if page.offset > page.total:
        raise ApiError(
            416,
            "PGRST103",
            "Requested range not satisfiable",
            details=f"An offset of {page.offset} was requested, but there are only {page.total} rows.",
            headers={"Content-Range": f"*/{page.total}"},
        )
    return 206 if page.rows < page.total else 200
