"""Makes the functions of a decider from tables that name one rule for each type of command or event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from drover.domain.decider import Command, Decision, Rejection

S = TypeVar("S")

Validate = Callable[[Command], Rejection | None]


def validate_by(checks: Mapping[type[Command], Callable[[Any], Rejection | None]]) -> Validate:
    """Make the function `validate` from a table of checks: it returns why a command can never be accepted, or None."""

    def validate(command: Command) -> Rejection | None:
        check = checks.get(type(command))
        return None if check is None else check(command)

    return validate


def decide_by(
    rules: Mapping[type[Command], Callable[[S, Any, datetime], Decision]], *, validate: Validate
) -> Callable[[S, Any, datetime], Decision]:
    def decide(state: S, command: Command, now: datetime) -> Decision:
        if (refusal := validate(command)) is not None:
            return Decision(rejection=refusal)
        return rules[type(command)](state, command, now)

    return decide


def evolve_by(changes: Mapping[type, Callable[[S, Any], None]]) -> Callable[[S, Any], S]:
    """Make the function `evolve` from a table of changes by event type. Each change mutates the state that it is
    given."""

    def evolve(state: S, event: Any) -> S:
        changes[type(event)](state, event)
        return state

    return evolve


def answer_by(answers: Mapping[type, Callable[[Any, Sequence[Any]], Any]]) -> Callable[[Sequence[Any]], Any]:
    """Make the function `answer` from a table by event type: it answers for the first event that the table has.

    A function of the table gets that event and all events of the command.
    """

    def answer(events: Sequence[Any]) -> Any:
        for event in events:
            tell = answers.get(type(event))
            if tell is not None:
                return tell(event, events)
        return None

    return answer
