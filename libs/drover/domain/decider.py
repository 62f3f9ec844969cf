"""The interface of a context: commands, decisions, and the functions of a decider. `drover.writer` runs deciders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from drover.domain.event import Event

S = TypeVar("S")

EVENTS_PER_DECISION_MAX: Final = 500
DECISION_BYTES_MAX: Final = 128 * 1024
CHAIN_BYTES_FULL: Final = 80 * 1024
"""A decision of this size is not continued (`Decision.then`)."""


class Command(msgspec.Struct, tag_field="type", tag=True, forbid_unknown_fields=True):
    """A request, named in the imperative. Its id, actor and trace travel beside it."""

    can_wait: ClassVar[bool] = False
    """Whether nothing waits for the command. Then it may be sent some milliseconds later, in a batch with others."""


class Tick(Command):
    """The clock has reached a deadline of the state."""


class Rejection(msgspec.Struct, frozen=True):
    """Why a command was refused."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class Decision(msgspec.Struct, frozen=True):
    """The outcome of a command: events to record, or an answer without events, or a refusal.

    A recorded refusal has events *and* a rejection; it is committed before the caller gets its answer.
    """

    events: Sequence[Event] = ()
    result: Any = None
    rejection: Rejection | None = None
    then: Callable[[Any, datetime], Decision] | None = None
    """The next decision, made on the state after `events`. It belongs to the same command and the same commit, so a
    rule sees the effect of the rule before it. The chain ends with a decision without events, or when it has become
    too large: the state must then hold the remaining work, with a deadline that is due."""


NOTHING: Final = Decision()


def accept(*events: Event, then: Callable[[Any, datetime], Decision] | None = None) -> Decision:
    """Record these events. The caller gets `Decider.answer(events)`, so a repeated command gets the same result."""
    return Decision(events=events, then=then)


def answer(result: Any) -> Decision:
    """Answer from live state, without events."""
    return Decision(result=result)


def reject(code: str, message: str, **details: Any) -> Decision:
    """Refuse, without events."""
    return Decision(rejection=Rejection(code, message, details or None))


def refuse_recording(rejection: Rejection, *events: Event) -> Decision:
    """Refuse and record the refusal. `Decider.answer(events)` must return the same rejection."""
    return Decision(events=events, rejection=rejection)


def _no_answer(events: Sequence[Any]) -> Any:
    return None


def _as_it_is(state: Any) -> Any:
    return state


class Decider(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """One context. All functions are pure, except that `evolve` may mutate the state that it is given."""

    context: str
    initial: Callable[[], S]
    decide: Callable[[S, Any, datetime], Decision]
    evolve: Callable[[S, Any], S]
    next_deadline: Callable[[S], datetime | None]
    answer: Callable[[Sequence[Any]], Any] = _no_answer
    """The result (or the `Rejection`) of a command, from its recorded events alone."""
    commands: Any
    """Union of the command types, for decoding."""
    events: Any
    """Union of the event types, `TermStarted` included, for decoding."""
    state: Any
    """Type of the state in snapshots: the state itself, or its image."""
    to_image: Callable[[S], Any] = _as_it_is
    """Turns a state into the form that snapshots store, without the parts that can be derived."""
    from_image: Callable[[Any], S] = _as_it_is
    upcasters: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
    """For every retired event type, a function that converts its fields to those of its successor. It sets `type` to
    the successor's name."""
    version: int = 1
    """The version of the rules. Raise it whenever `evolve` gives another state for the same events: older snapshots are
    then ignored."""
