"""Declares a route on the method that handles it: path, permission, body, answers, errors and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from drover.domain.identity.audit import AccessKind
from drover.web.permissions import CHANGES, Verb
from drover.web.sockets import CLOSE_S

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Place = Literal["query", "path", "header"]
Caller = Literal["token", "cron secret", "anybody"]
"""Who may call a route: holders of a token (an API key or a person's), of the cron secret, or anybody."""

JSON: Final = "application/json"


class Parameter(msgspec.Struct, frozen=True):
    name: str
    type: Any
    """The Python type of the parameter; bounds are in its `Meta`."""
    description: str
    place: Place = "query"
    required: bool = False
    many: bool = False
    """Whether the parameter takes several values, separated by commas."""
    many_max: int | None = None


class Answer(msgspec.Struct, frozen=True):
    type: Any = None
    """The type of the answer's body, or a Schema or AnyOf. None: no body."""
    description: str = "Done"
    media: str = JSON
    or_else: Mapping[str, Any] = {}
    """Other media types that the body may have, each with the type of the body then."""
    headers: Mapping[str, str] = {}
    """The description of each header of the answer, by name."""

    @property
    def contents(self) -> Mapping[str, Any]:
        """The type of the body for each of its media types; empty: no body."""
        return {} if self.type is None else {self.media: self.type, **self.or_else}


class Schema(msgspec.Struct, frozen=True):
    """A JSON Schema with a name, for a body that no Python type describes."""

    name: str
    schema: Mapping[str, Any]
    parts: tuple[Schema, ...] = ()
    """Other schemas that this one refers to."""


class AnyOf(msgspec.Struct, frozen=True):
    """A value of one of several types. msgspec's own unions would need a tag in each struct, which clients would then
    see."""

    types: tuple[Any, ...]


class Permission(NamedTuple):
    """The permission that a caller needs: an action and a relation of the table in `permissions`."""

    relation: str
    verb: Verb
    own: str | None = None
    """The relation that people need permission for instead, because they use only their own data on this route. None:
    people need the same permission as others."""


class Socket(NamedTuple):
    """The limits of a WebSocket route."""

    frame_bytes_max: int
    close_s: float = CLOSE_S
    """How long all sockets of the route together may take to close on shutdown, in seconds."""


class Limit(NamedTuple):
    """How a call counts towards the limit of its caller (`limits`)."""

    uses: float = 1.0
    """As how many requests it counts."""


ONE_USE: Final = Limit()
"""The limit of most routes."""


BY_HANDLER: Final = "by handler"
"""As `permission`: the handler checks it itself, because it needs the grant, or because the relation depends on the
request. As `limit`: the handler counts the calls itself, for example by device."""
NOT_LIMITED: Final = "not limited"
"""The `limit` of probes. An orchestrator that gets 429 would restart the process, and a probe costs less than counting
it."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    path: str
    """The path of the route, such as `/api/devices/{id}`."""
    id: str
    """The unique name of the operation in generated clients."""
    tag: str
    summary: str
    description: str = ""
    caller: Caller = "token"
    permission: Permission | Literal["by handler"] | None = None
    """The permission that is checked before the handler. BY_HANDLER and None: no permission is checked before it."""
    audited: AccessKind | None = None
    """The kind of sensitive data that the route shows. Each read is recorded in the audit before the handler is called,
    unless people read their own data. None: not recorded."""
    limit: Limit | Literal["by handler", "not limited"] = ONE_USE
    """How a call counts towards the caller's limit. By default, as one request."""
    identifies: bool = False
    """Whether the handler authenticates and counts its caller itself. Otherwise this is done before, and the handler
    gets the principal as its second argument, if the caller has a token."""
    https: bool = False
    """Whether plain HTTP from other machines is refused because a body or a cookie carries credentials. Routes that
    take a token or the cron secret always refuse it."""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body, or a Schema or AnyOf. None: no body."""
    body_optional: bool = False
    body_media: str = JSON
    """The media type of the body."""
    answers: Mapping[int, Answer]
    """The successful answers, by status."""
    errors: tuple[int, ...] = ()
    """The statuses of errors besides the usual ones."""
    socket: Socket | None = None
    """Set for WebSocket routes, whose handler returns a session. None: plain HTTP."""

    def __post_init__(self) -> None:
        if (self.caller == "token") != (self.permission is not None):
            raise TypeError(f"{self.method} {self.path}: a route has a permission exactly if its caller has a token")
        if self.audited is not None and not isinstance(self.permission, Permission):
            raise TypeError(f"{self.method} {self.path}: whose handler checks the permission also records the read")
        if self.identifies and (self.permission != BY_HANDLER or self.limit != BY_HANDLER):
            raise TypeError(f"{self.method} {self.path}: its handler identifies the caller, so it checks and counts")

    @property
    def changes(self) -> bool:
        """Whether the route's permission is for an action that changes something."""
        return isinstance(self.permission, Permission) and self.permission.verb in CHANGES

    @property
    def is_guarded(self) -> bool:
        """Whether the route takes credentials, so that something is checked before the handler is called."""
        return self.https or self.caller != "anybody"

    @property
    def types(self) -> list[Any]:
        """The types of the route's parameters, of its body and of its answers."""
        bodies = [] if self.body is None else [self.body]
        answers = [type_ for answer in self.answers.values() for type_ in answer.contents.values()]
        return [*(parameter.type for parameter in self.parameters), *bodies, *answers]


H = TypeVar("H", bound=Callable[..., Any])


def handles(*routes: Route) -> Callable[[H], H]:
    """Declare the routes of a method. It gets the request and, if the caller has a token, also the principal."""

    def declare(handler: H) -> H:
        handler.__routes__ = routes  # type: ignore[attr-defined]
        return handler

    return declare


def declared(handlers: type) -> Iterator[tuple[str, Route]]:
    """Return the routes of a class, each with the name of the method that handles it."""
    for name, member in vars(handlers).items():
        for route in getattr(member, "__routes__", ()):
            yield name, route


def routes_of(*handlers: type) -> tuple[Route, ...]:
    return tuple(route for one in handlers for _, route in declared(one))


def in_path(name: str, type_: Any, description: str) -> Parameter:
    return Parameter(name, type_, description, place="path", required=True)


MIN_POSITION: Final = Parameter(
    "Drover-Min-Position",
    str,
    "Read nothing older than this: the Drover-Position of a write, or min_position of the stream's hello. Waits up to"
    " 2 s, then 503 READ_MODEL_BEHIND.",
    place="header",
)
IDEMPOTENCY_KEY: Final = Parameter(
    "Idempotency-Key",
    str,
    "For ten minutes, the same key with the same body takes effect once, however often it is sent.",
    place="header",
)
POSITION: Final = {"Drover-Position": "The position of this write in the log."}
BEHIND: Final = {
    "Drover-Behind": "Only if the answer may lack writes: their positions. Without it, the answer shows every write"
    " that was acknowledged before the request."
}


def recorded(type_: Any) -> Answer:
    return Answer(type_, "Recorded", headers=POSITION)


def write(
    *,
    method: Method = "POST",
    path: str,
    id: str,
    tag: str,
    summary: str,
    permission: Permission,
    parameters: tuple[Parameter, ...] = (),
    body: Any = None,
    body_optional: bool = False,
    answers: Mapping[int, Answer],
    errors: tuple[int, ...] = (),
) -> Route:
    """Declare a route that sends a command. A repeat with the same Idempotency-Key has no further effect."""
    return Route(
        method=method,
        path=path,
        id=id,
        tag=tag,
        summary=summary,
        permission=permission,
        parameters=(*parameters, IDEMPOTENCY_KEY),
        body=body,
        body_optional=body_optional,
        answers=answers,
        errors=(400, 404, 413, 415, 422, 503, *errors),
    )
