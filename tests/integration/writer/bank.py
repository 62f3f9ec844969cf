"""A decider small enough to count by hand: each deposit is one event with its own token."""

from __future__ import annotations

from datetime import datetime

import msgspec

from drover.domain.decider import Command, Decider, Decision, Tick, accept, answer
from drover.domain.event import Event, TermStarted
from drover.writer.snapshots import snapshot_version


class Deposited(Event):
    token: str


class Deposit(Command):
    token: str


class Count(Command):
    pass


class Bank(msgspec.Struct):
    deposits: int = 0


def decide(state: Bank, command: Command, now: datetime) -> Decision:
    if isinstance(command, Deposit):
        return accept(Deposited(command.token))
    return answer(state.deposits)


def evolve(state: Bank, event: Event) -> Bank:
    if isinstance(event, Deposited):
        state.deposits += 1
    return state


def bank(context: str) -> Decider[Bank]:
    """The bank as a context of its own, so that tests on one server keep apart."""
    return Decider(
        context=context,
        initial=Bank,
        decide=decide,
        evolve=evolve,
        next_deadline=lambda state: None,
        commands=Deposit | Count | Tick,
        events=Deposited | TermStarted,
        state=Bank,
    )


class NextBank(msgspec.Struct):
    """The state of the next release: its field has another name."""

    count: int = 0


def next_bank(context: str) -> Decider[NextBank]:
    """The next release of the bank. It reads the snapshots of this one."""

    def decide_next(state: NextBank, command: Command, now: datetime) -> Decision:
        return decide(Bank(state.count), command, now)

    def evolve_next(state: NextBank, event: Event) -> NextBank:
        if isinstance(event, Deposited):
            state.count += 1
        return state

    before = bank(context)
    return Decider(
        context=context,
        initial=NextBank,
        decide=decide_next,
        evolve=evolve_next,
        next_deadline=lambda state: None,
        commands=before.commands,
        events=before.events,
        state=NextBank,
        image_migrations={snapshot_version(before): lambda state: {"count": state["deposits"]}},
    )
