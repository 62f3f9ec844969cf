"""What a writer answers, in its wire form: for the buses of tests that decide in memory."""

from __future__ import annotations

from typing import Any

import msgspec

from drover.bus.messages import Accepted, Outcome, Rejected
from drover.domain.decider import Decider, Decision


def on_the_wire(value: Any, type_: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value), type=type_)


def outcome_of(decider: Decider[Any], decision: Decision, seq: int) -> Outcome:
    """The answer to a decision whose events, if any, are the commit `seq`."""
    position = seq if decision.events else 0
    if (refused := decision.rejection) is not None:
        return on_the_wire(Rejected(refused.code, refused.message, refused.details, position), Outcome)
    result = decider.answer(decision.events) if decision.events else decision.result
    return on_the_wire(Accepted(position, result), Outcome)
