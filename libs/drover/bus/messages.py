"""The messages of the command bus: commands with their envelope, and their outcomes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.domain.partitions import MAIN

C = TypeVar("C")


class Submission(msgspec.Struct, Generic[C]):
    """A command with its id, its sender and its trace."""

    id: str
    """Identifies the command: a repeat with the same id has no further effect. If the client sent an
    `Idempotency-Key`, the id is `<hash of the key>~<digest of the body>`, so that the same key with another body is
    detected."""
    by: str
    command: C
    trace: str | UnsetType = UNSET


class Accepted(msgspec.Struct, tag=True, tag_field="outcome"):
    """The command took effect, and its events are on disk."""

    position: int
    """The sequence of the commit in the stream of its context, as in the header `Drover-Position`. 0: the command
    recorded no events; the writer answered it from its state."""
    result: Any = None


class Rejected(msgspec.Struct, tag=True, tag_field="outcome"):
    code: str
    message: str
    details: dict[str, Any] | None = None
    position: int = 0
    """The sequence of the commit that records the refusal. 0: the refusal was not recorded."""


Outcome = Accepted | Rejected


class Bus(Protocol):
    """The part of `drover.bus.client.CommandBus` that senders of commands need."""

    def send(
        self,
        context: str,
        command: Command,
        *,
        by: str,
        id: str | None = None,
        trace: str | None = None,
        partition: str = MAIN,
    ) -> Awaitable[Outcome]: ...


OVERLOADED: Final = Rejected(Code.OVERLOADED, "Too many commands are waiting; try again shortly")
LOG_FULL: Final = Rejected(
    Code.LOG_FULL, "The event log has no room, so nothing was changed; try again when an operator has made room"
)
NOT_LEADER: Final = Rejected(Code.NOT_LEADER, "This writer's term is over; ask again")


class Reply(msgspec.Struct):
    """One outcome for each submission of the message, in the same order."""

    epoch: int
    outcomes: list[Outcome]
