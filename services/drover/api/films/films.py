"""`/api/renders/{id}/preview` says where a finished video can be watched; `/api/renders/{id}/file` sends its bytes.

The read model says which file belongs to a render. Only files below the root of this process's NAS are opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote

import msgspec
import structlog
from aiohttp import web

from drover.api.films.ranges import Span, Unsatisfiable, wanted
from drover.api.films.store import FilmStore
from drover.api.films.tickets import Tickets
from drover.api.reads.database import ReadModels
from drover.api.reads.endpoint import number_in, respond
from drover.api.reads.parameters import INT_MAX
from drover.api.reads.queries import QUERIES
from drover.domain.errors import Code, DroverError
from drover.domain.identity.audit import AccessKind
from drover.web.access import Access
from drover.web.auth import Principal
from drover.web.errors import ApiError, not_found
from drover.web.permissions import Verb
from drover.web.route import BY_HANDLER, Answer, Parameter, Permission, Route, handles, in_path

FILE_PATH: Final = "/api/renders/{id}/file"
PIECE_BYTES_MAX: Final = 1024 * 1024
FILMS_MAX: Final = 8
"""Maximum of videos that a process sends at a time; further requests get 503. Each may hold a thread that waits for the
NAS."""
WRITE_BYTES_MAX: Final = 64 * 1024
SEND_S: Final = 30.0
"""Time-out for sending the next bytes to a player. A player that accepts none for this long is disconnected, because
browsers stop reading when they have enough, and would hold a connection while the page is open. They request the rest
with a range."""
KEPT_S: Final = 600
MEDIA: Final = "video/mp4"

log = structlog.stdlib.get_logger(__name__)


class RenderPreview(msgspec.Struct):
    """The URL of a finished file, which works for some minutes without a token."""

    url: str
    name: str
    content_type: str
    size_bytes: int
    expires_at: datetime


class Film(NamedTuple):
    path: PurePosixPath
    size_bytes: int
    tag: str


_ID: Final = in_path("id", int, "The render's number.")
_FAULTS: Final = (400, 404, 409, 501, 503)
_MAY_READ: Final = Permission("render_files", Verb.READ)


class Films:
    def __init__(
        self,
        access: Access,
        models: ReadModels,
        store: FilmStore | None,
        secrets: Sequence[str],
        *,
        send_s: float = SEND_S,
    ) -> None:
        """`store`: where finished files are; None if this process has no NAS. `secrets`: the secrets that sign the
        tickets."""
        self._access = access
        self._models = models
        self._store = store
        self._tickets = Tickets(secrets)
        self._send_s = send_s
        self._sending = 0

    @handles(
        Route(
            method="GET",
            path="/api/renders/{id}/preview",
            id="getRenderPreview",
            tag="render",
            summary="Whether the finished file of a render can be shown, and where",
            description=(
                "Checks the NAS. 404 NO_FILE: it is not finished; FILE_GONE: the file is not there any more;"
                " FILE_ELSEWHERE: its path is outside of the NAS. 409 FILE_CHANGED: another file is there."
                " 501 NAS_NOT_CONFIGURED: this process has no NAS. 503 NAS_UNREACHABLE: it does not answer."
            ),
            permission=_MAY_READ,
            audited=AccessKind.FILM,
            parameters=(_ID,),
            answers={200: Answer(RenderPreview, "The file is available")},
            errors=_FAULTS,
        )
    )
    async def preview(self, request: web.Request, principal: Principal) -> web.Response:
        render_id = number_in(request, "id", INT_MAX)
        film = await self._find(render_id)
        await self._read(film, 0, 1)  # checks that it exists and has the right size
        ticket, ends = self._tickets.make(render_id, principal.name)
        return respond(
            RenderPreview(
                url=f"{FILE_PATH.format(id=render_id)}?ticket={ticket}",
                name=film.path.name,
                content_type=MEDIA,
                size_bytes=film.size_bytes,
                expires_at=datetime.fromtimestamp(ends, UTC),
            )
        )

    @handles(
        Route(
            method="GET",
            path=FILE_PATH,
            id="getRenderFile",
            tag="render",
            summary="The finished file of a render",
            description=(
                "With a token, or with the ticket in the URL of a preview. Errors are those of the preview;"
                " 503 OVERLOADED: too many films are being sent."
            ),
            permission=BY_HANDLER,
            limit=BY_HANDLER,
            identifies=True,
            parameters=(
                _ID,
                Parameter("ticket", str, "From the preview."),
                Parameter("download", bool, "Send it as a download."),
                Parameter("Range", str, "One range of bytes.", place="header"),
            ),
            answers={
                200: Answer(bytes, "The whole file", media=MEDIA),
                206: Answer(bytes, "The requested bytes", media=MEDIA),
            },
            errors=(*_FAULTS, 416),
        )
    )
    async def file(self, request: web.Request) -> web.StreamResponse:
        render_id = number_in(request, "id", INT_MAX)
        holder = self._let_in(request, render_id)
        film = await self._find(render_id)
        if self._access.audit is not None:
            # Record the read under the name for which the ticket was made, whoever uses it, with the address of this
            # request.
            await self._access.audit.read_by(request, holder, AccessKind.FILM)
        span = _span(request, film)
        async with self._turn():
            # Read the first piece before sending the headers, while errors can still be reported.
            start, end = span or Span(0, film.size_bytes)
            first = await self._read(film, start, min(PIECE_BYTES_MAX, end - start))
            response = _head(film, span, is_download="download" in request.query)
            await response.prepare(request)
            try:
                if request.method != "HEAD":
                    await self._send(response, film, Span(start, end), first)
                async with asyncio.timeout(self._send_s):
                    await response.write_eof()
            except TimeoutError as error:
                if request.transport is not None:
                    request.transport.abort()  # close() would wait until its buffer has been read
                raise ConnectionResetError("The player does not read") from error
        return response

    def _let_in(self, request: web.Request, render_id: int) -> str:
        """Check the caller's token or, if there is one, the ticket. Return the name of the caller, or of the person for
        whom the ticket was made."""
        ticket = request.query.get("ticket")
        if ticket is None:
            return self._access.admit(request, _MAY_READ).name
        self._access.limits.count_address(request)
        holder = self._tickets.holder(ticket, render_id)
        if holder is None:
            raise ApiError(
                403, Code.FORBIDDEN, "The ticket is not for this film, or has expired", hint="Ask for another."
            )
        return holder

    async def _find(self, render_id: int) -> Film:
        row = await self._models.fetch_one("render", QUERIES["render_film"], render_id)
        if row is None:
            raise not_found("Render")
        location, size_bytes, sha256 = row
        if location is None or size_bytes is None:
            raise ApiError(404, "NO_FILE", "The render has no finished file")
        if self._store is None:
            hint = "Set DROVER_RENDER_NAS for the process of the api service, too."
            raise ApiError(501, "NAS_NOT_CONFIGURED", "This process has no NAS to read from", hint=hint)
        path = self._store.inside(location)
        if path is None:
            raise ApiError(404, "FILE_ELSEWHERE", "The path of the file is outside of the NAS", details=location)
        return Film(path, size_bytes, f'"{sha256}"')

    async def _read(self, film: Film, start: int, bytes_max: int) -> bytes:
        try:
            found = await cast(FilmStore, self._store).read(film.path, start, bytes_max)
        except DroverError as error:
            log.warning("film_unreadable", path=str(film.path), error=str(error))
            raise ApiError(
                503, "NAS_UNREACHABLE", "The NAS cannot be read at the moment", details=str(error)
            ) from error
        if found is None:
            raise ApiError(404, "FILE_GONE", "The file is not on the NAS any more")
        size_bytes, piece = found
        if size_bytes != film.size_bytes:
            raise ApiError(409, "FILE_CHANGED", "The file on the NAS is not the one that was delivered")
        return piece

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._sending >= FILMS_MAX:
            raise ApiError(503, Code.OVERLOADED, "Too many films are being sent")
        self._sending += 1
        try:
            yield
        finally:
            self._sending -= 1

    async def _send(self, response: web.StreamResponse, film: Film, span: Span, piece: bytes) -> None:
        at = span.start
        while piece:
            await self._write(response, piece)
            at += len(piece)
            if at >= span.end:
                return
            try:
                piece = await self._read(film, at, min(PIECE_BYTES_MAX, span.end - at))
            except ApiError as error:  # too late for an error response: cut the connection, and the player retries
                raise ConnectionResetError(error.message) from error
        raise ConnectionResetError("The file is shorter than its recorded size")

    async def _write(self, response: web.StreamResponse, piece: bytes) -> None:
        """Write the bytes in small parts, so that a slow connection is not mistaken for one that nobody reads."""
        rest = memoryview(piece)
        while rest:
            async with asyncio.timeout(self._send_s):
                await response.write(rest[:WRITE_BYTES_MAX])
            rest = rest[WRITE_BYTES_MAX:]


def _span(request: web.Request, film: Film) -> Span | None:
    """Return the range of bytes that the request asks for. None: the whole file."""
    if request.headers.get("If-Range", film.tag) != film.tag:  # the range is of an earlier file
        return None
    try:
        return wanted(request.headers.get("Range"), film.size_bytes)
    except Unsatisfiable:
        headers = {"Content-Range": f"bytes */{film.size_bytes}"}
        raise ApiError(416, "RANGE_NOT_SATISFIABLE", "The file is not that long", headers=headers) from None


def _head(film: Film, span: Span | None, *, is_download: bool) -> web.StreamResponse:
    headers: dict[str, Any] = {
        "Accept-Ranges": "bytes",
        "Cache-Control": f"private, max-age={KEPT_S}",
        "Content-Disposition": f"{'attachment' if is_download else 'inline'}; filename*=UTF-8''{quote(film.path.name)}",
        "Content-Length": str((span or Span(0, film.size_bytes)).size_bytes),
        "Content-Type": MEDIA,
        "ETag": film.tag,
        "X-Content-Type-Options": "nosniff",
    }
    if span is not None:
        headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{film.size_bytes}"
    return web.StreamResponse(status=200 if span is None else 206, headers=headers)
