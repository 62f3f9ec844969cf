"""The interface of a context: commands, decisions, and the functions of a decider. `drover.writer` runs deciders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from drover.domain.event import Event

S = TypeVar("S")
Migration = Callable[[Any], Any]
"""Converts the state of an earlier snapshot, as plain dicts and lists, to the present form."""

EVENTS_PER_DECISION_MAX: Final = 500
DECISION_BYTES_MAX: Final = 128 * 1024
CHAIN_BYTES_FULL: Final = 80 * 1024
"""Once the events of a decision have this size in bytes, `Decision.then` is not called any more."""


class Command(msgspec.Struct, tag_field="type", tag=True, forbid_unknown_fields=True):
    """A request, named in the imperative. Its id, actor and trace travel beside it."""

    can_wait: ClassVar[bool] = False
    """Whether no caller waits for the outcome. Such a command may be sent some milliseconds later, in a batch with
    others."""


class Tick(Command):
    """The command of the clock: a deadline of the state has passed."""


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
    """Makes the next decision of the same command and commit, on the state after `events`. Decisions follow one another
    until one has no events, or until their events are too large for one commit. In the latter case the state must hold
    the remaining work, and a deadline that is due already: the writer's next tick then continues the work."""


NOTHING: Final = Decision()


def accept(*events: Event, then: Callable[[Any, datetime], Decision] | None = None) -> Decision:
    """Accept the command and record these events. The caller gets `Decider.answer(events)`, so a repeat of the command
    gets the same answer."""
    return Decision(events=events, then=then)


def answer(result: Any) -> Decision:
    """Answer the caller with this value, read from the current state, and record no events."""
    return Decision(result=result)


def reject(code: str, message: str, **details: Any) -> Decision:
    """Refuse the command and record no events."""
    return Decision(rejection=Rejection(code, message, details or None))


def refuse_recording(rejection: Rejection, *events: Event) -> Decision:
    """Refuse the command and record these events. `Decider.answer(events)` must return the same rejection for a
    repeat."""
    return Decision(events=events, rejection=rejection)


def _no_answer(events: Sequence[Any]) -> Any:
    return None


def _as_it_is(state: Any) -> Any:
    return state


class Decider(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """The rules of one context. All functions are pure, except that `evolve` may mutate the state that it is given."""

    context: str
    initial: Callable[[], S]
    decide: Callable[[S, Any, datetime], Decision]
    evolve: Callable[[S, Any], S]
    next_deadline: Callable[[S], datetime | None]
    answer: Callable[[Sequence[Any]], Any] = _no_answer
    """Makes the result (or the `Rejection`) of a command from its recorded events alone."""
    commands: Any
    """Union of the command types, for decoding."""
    events: Any
    """Union of the event types, `TermStarted` included, for decoding."""
    state: Any
    """Type of the state in snapshots: the state itself, or its image."""
    to_image: Callable[[S], Any] = _as_it_is
    """Turns a state into the form that snapshots store, without the parts that can be derived."""
    from_image: Callable[[Any], S] = _as_it_is
    image_migrations: Mapping[str, Migration | None] = {}
    """By version of an earlier snapshot (there is a file for each in contracts/snapshots): the function that converts
    its state, as plain dicts and lists, to the present form. None: the present type can read it as it is. Snapshots of
    versions that are not listed are ignored."""
    upcasters: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
    """For every retired event type, a function that converts its fields to those of its successor. It sets `type` to
    the successor's name."""
    erasures: Callable[[S], Mapping[str, int]] | None = None
    """Returns how often each subject of personal data was erased, by token (`domain.erasure`). None: the context has no
    personal data, so its writer serves no keys."""
    version: int = 1
    """The version of the rules. Raise it, and empty `image_migrations`, if the new rules would go wrong on a state that
    the previous `evolve` made. A new process then ignores the old snapshots and folds the whole log, while the old
    process still leads."""
