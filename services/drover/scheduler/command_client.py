"""Sends the watch's commands to the writer of the fleet: at most one at a time for each device, and a bounded number in
total.

It does not decide which commands to send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from drover.bus.messages import Outcome, Rejected
from drover.domain.decider import Command

IN_FLIGHT_MAX: Final = 500
"""Maximum of commands without an answer so far; others wait. A power cut can silence 10,000 phones at once, and their
commands must not hold up others."""

Submit = Callable[[Command], asyncio.Future[Outcome]]
Answered = Callable[[bool], None]
"""Called when the last command of a `send` was accepted, or one was rejected. The argument: whether all were
accepted."""

log = structlog.get_logger("drover.scheduler")


class CommandClient:
    def __init__(self, submit: Submit, in_flight_max: int = IN_FLIGHT_MAX) -> None:
        self._submit = submit
        self._in_flight_max = in_flight_max
        self._under_way: dict[str, asyncio.Future[Outcome]] = {}

    def has_room(self) -> bool:
        return len(self._under_way) < self._in_flight_max

    def is_under_way(self, device_id: str) -> bool:
        return device_id in self._under_way

    def forget_all(self) -> None:
        """Forget all unanswered commands, after a change of leader: their outcomes are ignored."""
        self._under_way.clear()

    def send(self, device_id: str, commands: Sequence[Command], answered: Answered | None = None) -> bool:
        """Send these commands in order, each after the previous one was accepted. Returns False and sends nothing if
        too many commands are unanswered, or one for this device is."""
        if not self.has_room() or device_id in self._under_way:
            return False
        self._send_next(device_id, commands, answered)
        return True

    def _send_next(self, device_id: str, commands: Sequence[Command], answered: Answered | None) -> None:
        command, *others = commands
        future = self._under_way[device_id] = self._submit(command)

        def done(_: asyncio.Future[Outcome]) -> None:
            if self._under_way.get(device_id) is not future:
                return
            del self._under_way[device_id]
            if future.cancelled():
                return
            outcome = future.result()
            if isinstance(outcome, Rejected):
                log.info(
                    "presence_not_recorded", device_id=device_id, command=type(command).__name__, code=outcome.code
                )
            elif others:
                self._send_next(device_id, others, answered)
                return
            if answered is not None:
                answered(not isinstance(outcome, Rejected))

        future.add_done_callback(done)
