"""Declares a route on the method that handles it: path, permission, body, answers, errors and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from drover.web.permissions import Verb
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
    headers: Mapping[str, str] = {}
    """The description of each header of the answer, by name."""


class Schema(msgspec.Struct, frozen=True):
    """A JSON Schema with a name, for types that Python does not have."""

    name: str
    schema: Mapping[str, Any]
    parts: tuple[Schema, ...] = ()
    """Other schemas that this one refers to."""


class AnyOf(msgspec.Struct, frozen=True):
    """A value of one of several types. msgspec's own unions would need structs with tags, which clients do not need."""

    types: tuple[Any, ...]


class Permission(NamedTuple):
    """The permission that a caller needs: an action and a relation of the table in `permissions`."""

    relation: str
    verb: Verb
    own: str | None = None
    """The relation that a person needs instead, if people may do this with their own data. None: they may not."""


class Socket(NamedTuple):
    """The limits of a WebSocket route."""

    frame_bytes_max: int
    close_s: float = CLOSE_S
    """How long all sockets of the route together may take to close on shutdown, in seconds."""


BY_HANDLER: Final = "by handler"
"""The `permission` of a route whose handler checks it itself, because it needs the grant, or because the relation
depends on the request."""


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
    """The permission that is checked before the handler, which then gets the principal as its second argument.
    BY_HANDLER and None: no permission is checked before the handler."""
    https: bool = False
    """Whether plain HTTP from other machines is refused."""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body, or a Schema or AnyOf. None: no body."""
    body_optional: bool = False
    answers: Mapping[int, Answer]
    """The successful answers, by status."""
    errors: tuple[int, ...] = ()
    """The statuses of errors besides the usual ones."""
    socket: Socket | None = None
    """Set for WebSocket routes, whose handler returns a session. None: plain HTTP."""

    def __post_init__(self) -> None:
        if (self.caller == "token") != (self.permission is not None):
            raise TypeError(f"{self.method} {self.path}: a route has a permission exactly if its caller has a token")

    @property
    def is_guarded(self) -> bool:
        """Whether anything is checked before the handler is called."""
        return self.https or isinstance(self.permission, Permission)

    @property
    def types(self) -> list[Any]:
        """The types of the route's parameters, of its body and of its answers."""
        bodies = [] if self.body is None else [self.body]
        answers = [answer.type for answer in self.answers.values() if answer.type is not None]
        return [*(parameter.type for parameter in self.parameters), *bodies, *answers]


H = TypeVar("H", bound=Callable[..., Any])


def handles(*routes: Route) -> Callable[[H], H]:
    """Declare the routes of a method. It gets the request and, if the route has a `Permission`, also the principal."""

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
