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
"""Who may call: whoever has a token (API key, or a person's), whoever knows the secret of cron, anybody."""

JSON: Final = "application/json"


class Parameter(msgspec.Struct, frozen=True):
    name: str
    type: Any
    """As Python has it; bounds are in its `Meta`."""
    description: str
    place: Place = "query"
    required: bool = False
    many: bool = False
    """Several values, with commas between them."""
    many_max: int | None = None


class Answer(msgspec.Struct, frozen=True):
    type: Any = None
    """Of the body; None: there is none."""
    description: str = "Done"
    media: str = JSON
    headers: Mapping[str, str] = {}
    """By name, what each says."""


class Schema(msgspec.Struct, frozen=True):
    """A type that is not one of Python's: JSON Schema as it is, under a name."""

    name: str
    schema: Mapping[str, Any]
    parts: tuple[Schema, ...] = ()
    """Others that it refers to."""


class AnyOf(msgspec.Struct, frozen=True):
    """One of several types. Python's own unions would have to tell structs apart, which clients need not."""

    types: tuple[Any, ...]


class Permission(NamedTuple):
    """What a caller needs, as the table in `permissions` has it."""

    relation: str
    verb: Verb
    own: str | None = None
    """The relation that a person needs instead, where people may do this with what is theirs."""


class Socket(NamedTuple):
    """The limits of a route that takes WebSockets."""

    frame_bytes_max: int
    close_s: float = CLOSE_S
    """When the server stops: the time that all sockets together have for their goodbyes."""


BY_HANDLER: Final = "by handler"
"""The handler checks the permission itself: it needs the grant, or which relation it is depends on the request."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    path: str
    """As the router has it: `/api/devices/{id}`."""
    id: str
    """What a generated client calls it. Unique."""
    tag: str
    summary: str
    description: str = ""
    caller: Caller = "token"
    permission: Permission | Literal["by handler"] | None = None
    """Checked before the handler, which then takes the principal as its second argument."""
    https: bool = False
    """Refused where it comes in the clear from another machine."""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """Type of what is sent; None: nothing."""
    body_optional: bool = False
    answers: Mapping[int, Answer]
    """Without those that refuse."""
    errors: tuple[int, ...] = ()
    """Statuses of refusals beside the usual ones."""
    socket: Socket | None = None
    """It takes WebSockets; the handler then returns a session. None: it takes requests."""

    def __post_init__(self) -> None:
        if (self.caller == "token") != (self.permission is not None):
            raise TypeError(f"{self.method} {self.path}: routes for callers with a token have a permission, others not")

    @property
    def is_guarded(self) -> bool:
        """Something is checked before the handler."""
        return self.https or isinstance(self.permission, Permission)

    @property
    def types(self) -> list[Any]:
        """All that it names."""
        bodies = [] if self.body is None else [self.body]
        answers = [answer.type for answer in self.answers.values() if answer.type is not None]
        return [*(parameter.type for parameter in self.parameters), *bodies, *answers]


H = TypeVar("H", bound=Callable[..., Any])


def handles(*routes: Route) -> Callable[[H], H]:
    """Declare what a method handles. It takes the request, and the principal where the route has a permission."""

    def declare(handler: H) -> H:
        handler.__routes__ = routes  # type: ignore[attr-defined]
        return handler

    return declare


def declared(handlers: type) -> Iterator[tuple[str, Route]]:
    """The routes of a class, each with the name of the method that handles it."""
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
    "The same key with the same body is done once, however often it is sent, for ten minutes.",
    place="header",
)
POSITION: Final = {"Drover-Position": "Where this write stands in the log."}
