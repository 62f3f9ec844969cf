"""One route as it is described: what it takes and what it answers. Services keep theirs beside their routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

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


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    path: str
    """As the router has it: `/api/devices/{id}`."""
    id: str
    """What a generated client calls it. Unique."""
    tag: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """Type of what is sent; None: nothing."""
    body_optional: bool = False
    answers: Mapping[int, Answer]
    """Without those that refuse."""
    errors: tuple[int, ...] = ()
    """Statuses of refusals beside the usual ones."""
    caller: Caller = "token"

    @property
    def route(self) -> tuple[str, str]:
        return self.method, self.path

    @property
    def types(self) -> list[Any]:
        """All that it names."""
        bodies = [] if self.body is None else [self.body]
        answers = [answer.type for answer in self.answers.values() if answer.type is not None]
        return [*(parameter.type for parameter in self.parameters), *bodies, *answers]


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
