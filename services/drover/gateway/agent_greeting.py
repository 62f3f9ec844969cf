"""Handles the first frame (`hello`) of an agent's socket: for which devices it speaks, whether it may, and which of its
runs are still valid."""

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
"""How many seconds a `hello` waits for the roster if the agent knows of a run that is not in the roster yet."""
STARTING_RECONNECT_AFTER_S: Final = 2


class TurnedAway(DroverError):
    """The first frame (`hello`) of a socket is refused."""

    def __init__(self, close: CloseCode, code: str, message: str) -> None:
        super().__init__(f"{close.value} {code}: {message}")
        self.close = close
        self.code = code
        self.message = message


class RosterMoves:
    """Wakes waiting tasks after each commit that the roster has applied."""

    def __init__(self) -> None:
        self._moved = asyncio.Event()

    def commit(self) -> None:
        self._moved.set()
        self._moved.clear()  # current waiters are awake; new ones wait for the next commit

    async def until(self, condition: Callable[[], bool], within_s: float) -> bool:
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    await self._moved.wait()
        except TimeoutError:
            return condition()
        return True


async def greet(
    connection: Connection,
    principal: Principal,
    grant: Grant,
    around: Surroundings,
    moves: RosterMoves,
    check_key: Callable[[], object] = lambda: None,
) -> Session | None:
    """Read the `hello` and start a session. None: the socket is closed or closing.

    `check_key`: raises an ApiError if the key is no longer valid. It is called after the `hello`, because an agent may
    send that long after it has connected.
    """
    hello = await _hello(connection)
    if hello is None:
        return None
    roster = around.roster
    if not roster.complete:
        # A roster that is not up to date would refuse known devices and end live work.
        bye = Bye("The gateway has just started and is still loading the fleet", STARTING_RECONNECT_AFTER_S)
        connection.end(CloseCode.RESTART, bye=bye)
        return None
    await moves.until(lambda: _scope(roster, hello) is not None, BEHIND_WAIT_S)
    scope = _scope(roster, hello)
    if scope is None and (not grant.own or principal.device_id not in roster.fleet.devices):
        what = "PC" if hello.serial_number is None else "Device"
        raise TurnedAway(CloseCode.UNKNOWN, Code.NOT_FOUND, f"{what} not found")
    if scope is None or (grant.own and scope != Scope(device_id=principal.device_id)):
        raise TurnedAway(CloseCode.NOT_ALLOWED, "42501", "This key is bound to another device")
    around.limits.check_connect(scope.subject)
    await moves.until(lambda: None not in [verdict(roster.fleet, scope, held) for held in hello.holding], BEHIND_WAIT_S)
    # No await from here on: no event may come between the verdicts and the start of the session. Nor may a revocation,
    # because it ends only sessions that have started.
    check_key()
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
            message = "A hello must have either serial_number or pc_id"
        else:
            message = frame.message if isinstance(frame, BadFrame) else "The first frame must be a hello"
    raise TurnedAway(CloseCode.BAD_FRAMES, BAD_FRAME, message)


def _scope(roster: Roster, hello: Hello) -> Scope | None:
    if hello.serial_number is not None:
        device = roster.device(hello.serial_number)
        return None if device is None else Scope(device_id=device.device_id)
    return Scope(pc_id=hello.pc_id) if hello.pc_id in roster.fleet.pcs else None


def verdict(fleet: Fleet, scope: Scope, held: Holding) -> Verdict | None:
    """Decide by the roster whether the agent may continue a run. None: the agent knows something newer than the
    roster."""
    assignment = fleet.assignments.get(held.assignment_id)
    if assignment is None:
        ended = fleet.ended.get(held.assignment_id)
        return Verdict.DROP if ended is not None and held.run <= ended.run else None
    if not scope.covers(fleet.devices[assignment.device_id]):
        return Verdict.DROP
    if held.run > assignment.run:
        return None
    # OFFERED, too: the agent has this run, so it was sent, and the roster will soon have the event that says so.
    goes_on = held.run == assignment.run and assignment.phase in (Phase.OFFERED, Phase.SENT, Phase.RUNNING)
    return Verdict.CONTINUE if goes_on else Verdict.DROP


def _judged(fleet: Fleet, scope: Scope, held: Holding) -> Judged:
    found = verdict(fleet, scope, held)
    if found is None:
        # The run may be newer than the roster, or have ended long ago. The writer knows and will answer the next
        # report; dropping live work on a guess would cost an attempt.
        found = Verdict.CONTINUE
    return Judged(held.assignment_id, held.run, found)
