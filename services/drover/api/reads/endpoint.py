"""Declares read endpoints. Each parses its parameters, waits until the read model is as new as the request demands, and
answers with JSON that is not cached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

from aiohttp import web

from drover.api.reads.database import ReadModels
from drover.api.reads.listing import Listing, Page
from drover.api.reads.parameters import Asked, Kind, bad_parameter, parse_number, parse_text, parse_uuid, read_query
from drover.api.reads.united import United
from drover.domain.identity.audit import AccessKind
from drover.web.answers import NO_STORE, json_answer
from drover.web.audit import Audit
from drover.web.auth import Principal
from drover.web.freshness import Awaited, Freshness
from drover.web.permissions import Verb
from drover.web.route import BEHIND, MIN_POSITION, Answer, Parameter, Permission, Route, handles

MAY_READ: Final = Permission("dashboard", Verb.READ)
"""The permission for all read endpoints: the table of permissions has one entry for all of them."""
READ_ERRORS: Final = (400, 503)

T = TypeVar("T")


class Question(NamedTuple):
    """A request to a read endpoint, after its permission was checked."""

    request: web.Request
    asked: Asked
    principal: Principal
    awaited: Awaited
    """The commits that the answer includes, and the headers that say whether it may be stale."""


class Endpoint:
    def __init__(self, freshness: Freshness, models: ReadModels, audit: Audit | None = None) -> None:
        """`audit`: records sensitive reads. None, in tests of other things: nothing is recorded."""
        self.models = models
        self._freshness = freshness
        self._audit = audit

    async def ask(
        self, request: web.Request, principal: Principal, *, contexts: tuple[str, ...], kinds: tuple[Kind, ...]
    ) -> Question:
        """Parse the parameters, and wait until the read models have every earlier write."""
        asked = read_query(request.query, kinds)
        return Question(request, asked, principal, await self._freshness.wait(request.headers, *contexts))

    async def record(self, question: Question, kind: AccessKind) -> None:
        """Record that the caller reads something sensitive. Raises 503 if it cannot be recorded."""
        if self._audit is not None:
            await self._audit.read(question.request, question.principal, kind)


class Subject:
    """The read endpoints for one kind of data: the methods that are declared with `reads` and `lists`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint


S = TypeVar("S", bound=Subject)
Read = Callable[[S, Question], Awaitable[Any]]
Handle = Callable[[S, web.Request, Principal], Awaitable[web.Response]]


def reads(
    path: str,
    *,
    id: str,
    tag: str,
    summary: str,
    answer: Any,
    contexts: tuple[str, ...],
    kinds: tuple[Kind, ...] = (),
    parameters: tuple[Parameter, ...] = (),
    errors: tuple[int, ...] = (),
) -> Callable[[Read[S]], Handle[S]]:
    """Declare a method as a read endpoint. `contexts`: the read models that it queries. `kinds`: its query
    parameters."""
    route = Route(
        method="GET",
        path=path,
        id=id,
        tag=tag,
        summary=summary,
        permission=MAY_READ,
        parameters=(*parameters, *(kind.described for kind in kinds), MIN_POSITION),
        answers={200: Answer(answer, "From the read model", headers=BEHIND)},
        errors=(*READ_ERRORS, *errors),
    )

    def declare(read: Read[S]) -> Handle[S]:
        @handles(route)
        @wraps(read)
        async def handle(subject: S, request: web.Request, principal: Principal) -> web.Response:
            question = await subject._endpoint.ask(request, principal, contexts=contexts, kinds=kinds)
            return respond(await read(subject, question), question.awaited.headers)

        return handle

    return declare


def lists(
    listing: Listing[Any] | United[Any],
    path: str,
    *,
    id: str,
    tag: str,
    summary: str,
    parameters: tuple[Parameter, ...] = (),
    in_path: Callable[[web.Request], dict[str, Any]] | None = None,
) -> Handle[Any]:
    """Declare a method as the endpoint of a list. `in_path`: parses the parameters in the path."""

    async def read(subject: Subject, question: Question) -> Page[Any]:
        request, asked = question.request, question.asked
        return await listing.page(subject._endpoint.models, asked.with_(**in_path(request)) if in_path else asked)

    row: Any = listing.row
    declare = reads(
        path,
        id=id,
        tag=tag,
        summary=summary,
        answer=Page[row],
        contexts=listing.contexts,
        kinds=listing.kinds,
        parameters=parameters,
    )
    return declare(read)


def respond(value: Any, behind: Mapping[str, str] = MappingProxyType({})) -> web.Response:
    return json_answer(value, headers={**NO_STORE, **behind})


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
        raise bad_parameter(name, value, str(error)) from None
