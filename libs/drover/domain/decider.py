"""The shape of a context: a few functions and types. What runs a decider lives in `drover.writer`."""

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
"""A decision that has this much is not carried on."""


class Command(msgspec.Struct, tag_field="type", tag=True, forbid_unknown_fields=True):
    """A wish, in the imperative. Its id, its actor and its trace travel beside it."""

    can_wait: ClassVar[bool] = False
    """Nothing is held up while it is on its way: it may travel with others, some milliseconds later."""


class Tick(Command):
    """Time has come to a deadline that the state knows of."""


class Rejection(msgspec.Struct, frozen=True):
    """Why a command was refused."""

    code: str
    message: str
    details: dict[str, Any] | None = None


class Decision(msgspec.Struct, frozen=True):
    """What follows from a command: events to record, or an answer that needs none, or a refusal.

    A refusal that must be recorded has events *and* a rejection; it is committed before it is answered.
    """

    events: Sequence[Event] = ()
    result: Any = None
    rejection: Rejection | None = None
    then: Callable[[Any, datetime], Decision] | None = None
    """What follows, decided on the state that `events` lead to. It belongs to the same command and the same commit;
    so a rule can look at what another has just done without doing it twice. The chain ends with a decision without
    events, or when it has become large: what is left must be in the state, and due."""


NOTHING: Final = Decision()


def accept(*events: Event, then: Callable[[Any, datetime], Decision] | None = None) -> Decision:
    """Record these events. The caller's result is `Decider.answer(events)`, so that a repeat gets the same one."""
    return Decision(events=events, then=then)


def answer(result: Any) -> Decision:
    """Answer from live state; nothing happened."""
    return Decision(result=result)


def reject(code: str, message: str, **details: Any) -> Decision:
    """Refuse; nothing happened."""
    return Decision(rejection=Rejection(code, message, details or None))


def refuse_recording(rejection: Rejection, *events: Event) -> Decision:
    """Refuse, and write down that it was. `Decider.answer(events)` must give the same rejection."""
    return Decision(events=events, rejection=rejection)


def _no_answer(events: Sequence[Any]) -> Any:
    return None


def _as_it_is(state: Any) -> Any:
    return state


class Decider(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """One context. All functions are pure, save that `evolve` may mutate the state that it is given."""

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
    """Type of the state as snapshots keep it: the state itself, or its image."""
    to_image: Callable[[S], Any] = _as_it_is
    """For a state with parts that can be derived, which need not be kept: what a snapshot keeps of it."""
    from_image: Callable[[Any], S] = _as_it_is
    upcasters: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
    """For every retired event type: its fields as those of its successor, whose name goes into `type`."""
    version: int = 1
    """Rises whenever `evolve` gives another state for the same events: older snapshots are then ignored."""
