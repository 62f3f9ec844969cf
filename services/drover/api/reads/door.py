"""What every read does before it asks and after: who may, how fresh, JSON that nobody on the way keeps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from aiohttp import web

from drover.api.reads.database import ReadModels
from drover.api.reads.listing import Listing, Page
from drover.api.reads.parameters import Asked, Kind, parse_number, parse_text, parse_uuid, read_query
from drover.domain.errors import Code
from drover.web.application import Handler
from drover.web.auth import Authenticator, Principal
from drover.web.errors import ApiError, encode_json, invalid
from drover.web.freshness import Freshness
from drover.web.openapi.operation import MIN_POSITION, Answer, Operation, Parameter
from drover.web.permissions import Verb, demand

RELATION: Final = "dashboard"
"""All that is read here, in the table of permissions."""
READ_ERRORS: Final = (400, 503)

T = TypeVar("T")


class Question(NamedTuple):
    """A read that was let in."""

    request: web.Request
    asked: Asked
    principal: Principal


class Door:
    def __init__(self, auth: Authenticator, freshness: Freshness, models: ReadModels) -> None:
        self.models = models
        self._auth = auth
        self._freshness = freshness

    def handler(
        self, contexts: tuple[str, ...], kinds: tuple[Kind, ...], read: Callable[[Question], Awaitable[Any]]
    ) -> Handler:
        """A handler that lets in who may, waits for what they know of, and shows what `read` gives."""

        async def handle(request: web.Request) -> web.Response:
            principal = self._auth.authenticate(request.headers)
            demand(principal, RELATION, Verb.READ)
            asked = read_query(request.query, kinds)
            await self._freshness.wait(request.headers, principal.name, *contexts)
            return respond(await read(Question(request, asked, principal)))

        return handle

    def listing(self, listing: Listing[Any], *, path: Callable[[web.Request], dict[str, Any]] | None = None) -> Handler:
        """A list. `path`: what the path says of it."""

        async def read(question: Question) -> Page[Any]:
            request, asked, _ = question
            return await listing.page(self.models, asked.with_(**path(request)) if path else asked)

        return self.handler((listing.context,), listing.kinds, read)


def respond(value: Any) -> web.Response:
    headers = {"Cache-Control": "no-store"}
    return web.Response(body=encode_json(value), content_type="application/json", headers=headers)


def described(
    path: str,
    id: str,
    tag: str,
    summary: str,
    answer: Any,
    *,
    kinds: tuple[Kind, ...] = (),
    parameters: tuple[Parameter, ...] = (),
    errors: tuple[int, ...] = (),
    description: str = "",
) -> Operation:
    """The operation of a read."""
    return Operation(
        method="GET",
        path=path,
        id=id,
        tag=tag,
        summary=summary,
        description=description,
        parameters=(*parameters, *(kind.described for kind in kinds), MIN_POSITION),
        answers={200: Answer(answer, "As the read model has it")},
        errors=(*READ_ERRORS, *errors),
    )


def uuid_in(request: web.Request, name: str) -> UUID:
    return _in_path(request, name, parse_uuid)


def number_in(request: web.Request, name: str, most: int) -> int:
    return _in_path(request, name, lambda value: parse_number(value, 0, most))


def text_in(request: web.Request, name: str) -> str:
    return _in_path(request, name, parse_text)


def _in_path(request: web.Request, name: str, parse: Callable[[str], T]) -> T:
    value = request.match_info[name]
    try:
        return parse(value)
    except ValueError as error:
        shown = value[:64].encode("utf-8", "replace").decode().replace("\0", "\\u0000")
        raise invalid(f"{name}: {error}", field=name, value=shown) from None


def not_found(what: str) -> ApiError:
    return ApiError(404, Code.NOT_FOUND, f"{what} not found")
