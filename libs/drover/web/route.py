"""A route, declared on the method that handles it: path, permission, body, answers, errors and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from drover.web.permissions import Verb
from drover.web.sockets import CLOSE_S

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Place = Literal["query", "path", "header"]
Caller = Literal["token", "cron secret", "anybody"]
"""Who may call: holders of a token (an API key or a person's), of the cron secret, or anybody."""

JSON: Final = "application/json"


class Parameter(msgspec.Struct, frozen=True):
    name: str
    type: Any
    """A Python type; bounds are in its `Meta`."""
    description: str
    place: Place = "query"
    required: bool = False
    many: bool = False
    """Several values, separated by commas."""
    many_max: int | None = None


class Answer(msgspec.Struct, frozen=True):
    type: Any = None
    """Type of the body. None: no body."""
    description: str = "Done"
    media: str = JSON
    headers: Mapping[str, str] = {}
    """Description of each header, by name."""


class Schema(msgspec.Struct, frozen=True):
    """A JSON Schema with a name, for types that Python does not have."""

    name: str
    schema: Mapping[str, Any]
    parts: tuple[Schema, ...] = ()
    """Other schemas that it refers to."""


class AnyOf(msgspec.Struct, frozen=True):
    """One of several types. msgspec's own unions would need structs with tags, which clients do not need."""

    types: tuple[Any, ...]


class Permission(NamedTuple):
    """What a caller needs, in the terms of the table in `permissions`."""

    relation: str
    verb: Verb
    own: str | None = None
    """The relation that a person needs instead, if people may do this with their own data."""


class Socket(NamedTuple):
    """The limits of a WebSocket route."""

    frame_bytes_max: int
    close_s: float = CLOSE_S
    """On shutdown: how long all sockets together may take to close."""


BY_HANDLER: Final = "by handler"
"""The handler checks the permission itself: it needs the grant, or the relation depends on the request."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    path: str
    """A path of the router: `/api/devices/{id}`."""
    id: str
    """The operation's name in generated clients. Unique."""
    tag: str
    summary: str
    description: str = ""
    caller: Caller = "token"
    permission: Permission | Literal["by handler"] | None = None
    """Checked before the handler, which then gets the principal as its second argument."""
    https: bool = False
    """Refuse plain HTTP from other machines."""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """Type of the request's body. None: no body."""
    body_optional: bool = False
    answers: Mapping[int, Answer]
    """Successful answers, by status."""
    errors: tuple[int, ...] = ()
    """Statuses of errors besides the usual ones."""
    socket: Socket | None = None
    """Set for WebSocket routes, whose handler returns a session. None: plain HTTP."""

    def __post_init__(self) -> None:
        if (self.caller == "token") != (self.permission is not None):
            raise TypeError(f"{self.method} {self.path}: a route has a permission exactly if its caller has a token")

    @property
    def is_guarded(self) -> bool:
        """Whether something is checked before the handler."""
        return self.https or isinstance(self.permission, Permission)

    @property
    def types(self) -> list[Any]:
        """All types that it names."""
        bodies = [] if self.body is None else [self.body]
        answers = [answer.type for answer in self.answers.values() if answer.type is not None]
        return [*(parameter.type for parameter in self.parameters), *bodies, *answers]


H = TypeVar("H", bound=Callable[..., Any])


def handles(*routes: Route) -> Callable[[H], H]:
    """Declare the routes of a method. It gets the request, and the principal if the route has a permission."""

    def declare(handler: H) -> H:
        handler.__routes__ = routes  # type: ignore[attr-defined]
        return handler

    return declare


def declared(handlers: type) -> Iterator[tuple[str, Route]]:
    """The routes of a class, each with the name of its handler method."""
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
