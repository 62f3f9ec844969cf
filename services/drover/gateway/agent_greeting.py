"""The first words on an agent's socket: for whom it speaks, whether it may, and what is still so of what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from drover.domain.errors import Code, DroverError
from drover.domain.fleet.state import Fleet, Phase
from drover.gateway.agent_connection import BAD_FRAME, Connection
from drover.gateway.agent_protocol import (
    HELLO_WITHIN_S,
    BadFrame,
    Bye,
    CloseCode,
    Hello,
    Holding,
    Judged,
    Verdict,
)
from drover.gateway.agent_registry import Scope
from drover.gateway.agent_session import Session, Surroundings
from drover.gateway.roster import Roster
from drover.web.auth import Principal
from drover.web.permissions import Grant

BEHIND_WAIT_S: Final = 1.0
"""How long a hello waits for the roster where the agent seems to know of something newer."""
STARTING_RECONNECT_AFTER_S: Final = 2


class TurnedAway(DroverError):
    """A socket whose hello is not taken."""

    def __init__(self, close: CloseCode, code: str, message: str) -> None:
        super().__init__(f"{close.value} {code}: {message}")
        self.close = close
        self.code = code
        self.message = message


class RosterMoves:
    """Wakes those who wait for the roster to learn something."""

    def __init__(self) -> None:
        self._moved = asyncio.Event()

    def commit(self) -> None:
        self._moved.set()
        self._moved.clear()  # those who wait are awake by now; the next ones wait for the next commit

    async def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    await self._moved.wait()
        except TimeoutError:
            return condition()
        return True


async def greet(
    connection: Connection, principal: Principal, grant: Grant, around: Surroundings, moves: RosterMoves
) -> Session | None:
    """A session that has begun; None: the socket is closed, or about to be."""
    hello = await _hello(connection)
    if hello is None:
        return None
    roster = around.roster
    if not roster.complete:
        # It would send known devices away, and call work that is alive over.
        bye = Bye("The gateway has just started and is still reading who is in the fleet", STARTING_RECONNECT_AFTER_S)
        connection.end(CloseCode.RESTART, bye=bye)
        return None
    await moves.until(lambda: _scope(roster, hello) is not None, BEHIND_WAIT_S)
    scope = _scope(roster, hello)
    if scope is None and (not grant.own or principal.device_id not in roster.fleet.devices):
        what = "PC" if hello.serial_number is None else "Device"
        raise TurnedAway(CloseCode.UNKNOWN, Code.NOT_FOUND, f"{what} not found")
    if scope is None or (grant.own and scope != Scope(device_id=principal.device_id)):
        raise TurnedAway(CloseCode.NOT_ALLOWED, "42501", "This key is bound to another device")
    await moves.until(lambda: None not in [verdict(roster.fleet, scope, held) for held in hello.holding], BEHIND_WAIT_S)
    # From here on without a pause: no event comes between what is found out and what is begun.
    session = Session(connection, principal, scope, around)
    session.start([_judged(roster.fleet, scope, held) for held in hello.holding])
    return session


async def _hello(connection: Connection) -> Hello | None:
    try:
        async with asyncio.timeout(HELLO_WITHIN_S):
            frame = await connection.receive()
    except TimeoutError:
        message = f"No hello within {HELLO_WITHIN_S:.0f} s"
    else:
        if frame is None:
            return None
        if isinstance(frame, Hello) and (frame.serial_number is None) != (frame.pc_id is None):
            return frame
        if isinstance(frame, Hello):
            message = "A hello says either serial_number or pc_id"
        else:
            message = frame.message if isinstance(frame, BadFrame) else "The first frame must be a hello"
    raise TurnedAway(CloseCode.BAD_FRAMES, BAD_FRAME, message)


def _scope(roster: Roster, hello: Hello) -> Scope | None:
    if hello.serial_number is not None:
        device = roster.device(hello.serial_number)
        return None if device is None else Scope(device_id=device.device_id)
    return Scope(pc_id=hello.pc_id) if hello.pc_id in roster.fleet.pcs else None


def verdict(fleet: Fleet, scope: Scope, held: Holding) -> Verdict | None:
    """What is so by the roster; None: the agent knows of something that the roster has not heard of."""
    assignment = fleet.assignments.get(held.assignment_id)
    if assignment is None:
        ended = fleet.ended.get(held.assignment_id)
        return Verdict.DROP if ended is not None and held.run <= ended.run else None
    if not scope.covers(fleet.devices[assignment.device_id]):
        return Verdict.DROP
    if held.run > assignment.run:
        return None
    # OFFERED too: the agent has it, so it was sent, and this roster is about to learn that.
    goes_on = held.run == assignment.run and assignment.phase in (Phase.OFFERED, Phase.SENT, Phase.RUNNING)
    return Verdict.CONTINUE if goes_on else Verdict.DROP


def _judged(fleet: Fleet, scope: Scope, held: Holding) -> Judged:
    found = verdict(fleet, scope, held)
    if found is None:
        # It may be news that has not come here yet, or it may be long over. The next report is answered by the writer,
        # which knows; to drop live work on a guess would cost an attempt.
        found = Verdict.CONTINUE
    return Judged(held.assignment_id, held.run, found)
