"""A WebSocket connection (line) of a PC with its phones, or of one phone: connects, sends and receives, reconnects.

It does not decide what phones send; it reaches the phones through an `Exchange`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from random import Random
from time import monotonic
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import aiohttp
import msgspec

from drover.agent import frames
from drover.agent.backoff import AgentBackoff
from drover.agent.client import PhoneClient
from drover.agent.clock import Clock
from drover.agent.protocol import (
    ADVICE,
    DONE,
    NO_ANSWER,
    NO_CONNECTION,
    Action,
    Answer,
    Heartbeat,
    Holding,
    Offer,
    Report,
    body_of,
)

WELCOME_S: Final = 15.0
REPORT_S: Final = 45.0
"""Time-out in seconds for the answer to a report. After it, the socket is closed, and the report is sent again on the
next socket."""
RENEW_AFTER_S: Final = 30.0
"""Minimum age of a socket in seconds before it is replaced for phones that it does not know. So a phone that was moved
to another PC, which stays unknown, does not cause endless reconnects."""
FRAMES_WAITING_PER_PHONE_MAX: Final = 4
RECONNECT_SPREAD_S: Final = 1.0
"""After a restart of the platform, the reconnects are spread over this many seconds."""

REPLACED: Final = 1000
"""The close code for a socket that a newer one has replaced."""
UNKNOWN_SUBJECT: Final = 4404
REFUSALS: Final = {4400: 400, 4401: 401, 4403: 403}
"""The close codes with which the platform refuses a socket, and the HTTP status for each."""

log = logging.getLogger(__name__)


class Errand(Protocol):
    """An action to send, with whatever its sender wants to have back with the answer."""

    @property
    def action(self) -> Action: ...


E = TypeVar("E", bound=Errand)
E_contra = TypeVar("E_contra", bound=Errand, contravariant=True)


class Exchange(Protocol[E_contra]):
    """The phones of a line, by number."""

    def answered(self, number: int, errand: E_contra, answer: Answer) -> None: ...

    def offered(self, number: int, offer: Offer) -> None: ...

    def withdrawn(self, number: int, assignment_id: str, run: int) -> None: ...

    def connected(self, number: int) -> None: ...

    def disconnected(self, number: int) -> None:
        """Called when no socket could be opened, or the socket broke. The line tries again after a pause."""
        ...

    def judged(self, number: int, assignment_id: str, run: int, goes_on: bool) -> None: ...

    def holding(self, number: int) -> Holding | None: ...

    def unknown(self, number: int) -> None:
        """Called when the platform does not know this phone."""
        ...


class Sent(NamedTuple, Generic[E]):
    """A report that waits for its answer."""

    number: int
    errand: E
    at: float


class _Ended(NamedTuple):
    """Why a socket ended."""

    answer: Answer
    """The equivalent HTTP answer, which determines the pause before the next socket."""
    reconnect_after_s: float | None = None


class SocketLine(Generic[E]):
    """The line of a PC or of one phone. `carry` sends what phones want to send; `run` keeps a socket open, unless the
    platform refuses it. Subclasses may watch what happens on the line, or cut its power."""

    def __init__(
        self,
        subject: dict[str, str],
        phones: Mapping[str, int],
        exchange: Exchange[E],
        client: PhoneClient,
        clock: Clock,
        *,
        dialling: asyncio.Semaphore | None = None,
    ) -> None:
        """`subject`: the `serial_number` of a phone, or the `pc_id` of a PC. `phones`: by serial number, the number of
        the phone in `exchange`. `dialling`: limits how many lines connect at the same time."""
        self._subject = subject
        self._name = next(iter(subject.values()))
        self._phones = phones
        self._exchange = exchange
        self._client = client
        self._clock = clock
        self._dialling = dialling or asyncio.Semaphore(1)
        self._dice = Random(f"{self._name} reconnects")  # noqa: S311 - it spreads reconnects
        self._backoff = AgentBackoff()
        self._refs = count(1)
        self._serial_of = {number: serial for serial, number in phones.items()}
        self._outbox: asyncio.Queue[str] = asyncio.Queue(FRAMES_WAITING_PER_PHONE_MAX * len(phones) + 1)
        self._open = False
        self._by_id: dict[str, int] = {}
        self._known: set[int] = set()
        self._holders: dict[str, int] = {}
        """For each assignment: the phone that holds it, according to the last `hello` (the first frame of a socket)."""
        self._unanswered: dict[int, Sent[E]] = {}
        self._renew = asyncio.Event()
        self.connections = 0
        """How often the platform has accepted a socket of this line."""

    def renew(self) -> None:
        """Reconnect and send a new `hello` (first frame), after unknown phones were registered."""
        self._renew.set()

    # From the phones

    def carry(self, number: int, errand: E) -> None:
        """Send an errand. The exchange gets its outcome: for a heartbeat at once, for a report when it is answered."""
        answer = self._carry(number, errand)
        if answer is not None:
            self._exchange.answered(number, errand, answer)

    def _carry(self, number: int, errand: E) -> Answer | None:
        action = errand.action
        if not self._open or self._outbox.full():
            return NO_CONNECTION
        if number not in self._known:
            return Answer(404)
        if isinstance(action, Heartbeat):
            self._outbox.put_nowait(frames.heartbeat(self._serial_of[number], action, datetime.now(UTC)))
            self._give_up_waiting()
            return DONE
        assert isinstance(action, Report), "work is pushed on a socket, nobody polls"
        ref, now = next(self._refs), monotonic()
        self._unanswered[ref] = sent = Sent(number, errand, now)
        self._reported(sent)
        self._outbox.put_nowait(frames.report(ref, action.assignment_id, body_of(action, self._clock.wall)))
        return None

    def _give_up_waiting(self) -> None:
        oldest = next(iter(self._unanswered.values()), None)
        if oldest is not None and monotonic() - oldest.at > REPORT_S:
            log.warning("%s: a report was not answered within %g s; reconnecting", self._name, REPORT_S)
            self._renew.set()

    # The socket

    async def run(self) -> None:
        """Keep a socket open for ever. Cancel it to close the socket."""
        while True:
            await self._wait_for_power()
            self._renew.clear()
            async with self._dialling:
                answer, socket = await self._client.dial(self._subject.get("serial_number"))
            if socket is None and answer.status is not None:
                advice = f": {ADVICE[answer.status]}" if answer.status in ADVICE else ""
                log.warning("%s: the platform refused the socket with status %s%s", self._name, answer.status, advice)
            ended = _Ended(answer) if socket is None else await self._live(socket)
            pause_s = self._backoff.pause_after(ended.answer, self._clock.now())
            if ended.reconnect_after_s is not None:
                pause_s = ended.reconnect_after_s + self._dice.uniform(0, RECONNECT_SPREAD_S)
            if not ended.answer.connected:
                for number in self._phones.values():
                    self._exchange.disconnected(number)
            await asyncio.sleep(self._clock.real_s(pause_s))

    async def _live(self, socket: aiohttp.ClientWebSocketResponse) -> _Ended:
        """Serve one socket, from its first frame to its end."""
        try:
            async with asyncio.timeout(self._power_s()) as power:
                return await self._converse(socket)
        except (aiohttp.ClientError, OSError, TimeoutError):
            if not power.expired():
                return _Ended(NO_CONNECTION)
            # A power cut sends no close frame: the socket stays open until the platform detects it.
            self._hang_up()
            await self._wait_for_power()
            return _Ended(NO_CONNECTION, reconnect_after_s=0.0)
        finally:
            self._hang_up()
            with suppress(aiohttp.ClientError, OSError):
                await socket.close()

    async def _converse(self, socket: aiohttp.ClientWebSocketResponse) -> _Ended:
        held = {number: self._exchange.holding(number) for number in self._phones.values()}
        self._holders = {one.assignment_id: number for number, one in held.items() if one is not None}
        await socket.send_str(frames.hello(self._subject, [one for one in held.values() if one is not None]))
        ended = await self._listen_for_welcome(socket)
        if ended is not None:
            return ended
        writer = asyncio.create_task(self._write(socket), name=f"writer of {self._name}")
        reader = asyncio.create_task(self._read(socket), name=f"reader of {self._name}")
        renewal = asyncio.create_task(self._wait_for_renewal(), name=f"renewal of {self._name}")
        tasks = (writer, reader, renewal)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                return reader.result()
            return _Ended(NO_CONNECTION, reconnect_after_s=0.0 if renewal.done() else None)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait_for_renewal(self) -> None:
        not_before = self._clock.now() + RENEW_AFTER_S
        await self._renew.wait()
        await asyncio.sleep(self._clock.real_s(max(0.0, not_before - self._clock.now())))

    async def _listen_for_welcome(self, socket: aiohttp.ClientWebSocketResponse) -> _Ended | None:
        try:
            async with asyncio.timeout(WELCOME_S):
                while True:
                    message = await socket.receive()
                    frame = self._understand(message)
                    if isinstance(frame, frames.Welcome):
                        self._welcomed(frame)
                        return None
                    if isinstance(frame, frames.Bye) or message.type is not aiohttp.WSMsgType.TEXT:
                        return self._why(socket, frame)
        except TimeoutError:
            return _Ended(NO_ANSWER)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> _Ended:
        bye: frames.Frame | None = None
        while (message := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
            frame = self._understand(message)
            if isinstance(frame, frames.Bye):
                bye = frame
            elif frame is not None:
                self._hear(frame)
        return self._why(socket, bye)

    async def _write(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await socket.send_str(await self._outbox.get())

    def _understand(self, message: aiohttp.WSMessage) -> frames.Frame | None:
        if message.type is not aiohttp.WSMsgType.TEXT:
            return None
        try:
            return frames.decode(message.data)
        except msgspec.DecodeError:
            self._note("frames not understood")
            return None

    def _why(self, socket: aiohttp.ClientWebSocketResponse, bye: frames.Frame | None) -> _Ended:
        code = socket.close_code
        if code == UNKNOWN_SUBJECT:
            for number in self._phones.values():
                self._exchange.unknown(number)
            return _Ended(Answer(404))
        if isinstance(bye, frames.Bye):
            if code == REPLACED:
                log.warning(
                    "%s: replaced by a newer socket for it; connecting again in %g s. Does another agent work for it?",
                    self._name,
                    bye.reconnect_after_s,
                )
            return _Ended(DONE, reconnect_after_s=bye.reconnect_after_s)
        if code in REFUSALS:
            status = REFUSALS[code]
            advice = f": {ADVICE[status]}" if status in ADVICE else ""
            log.warning("%s: the platform closed the socket with code %s%s", self._name, code, advice)
            return _Ended(Answer(status))
        return _Ended(NO_CONNECTION)

    # To the phones

    def _welcomed(self, welcome: frames.Welcome) -> None:
        self.connections += 1
        self._backoff = AgentBackoff()
        self._by_id = {
            device.id: self._phones[device.serial_number]
            for device in welcome.devices
            if device.serial_number in self._phones
        }
        self._known = set(self._by_id.values())
        self._open = True
        for number in self._phones.values():
            if number in self._known:
                self._exchange.connected(number)
            else:
                self._exchange.unknown(number)
        for assignment_id, run, verdict in welcome.verdicts():
            if assignment_id in self._holders:
                self._exchange.judged(self._holders[assignment_id], assignment_id, run, verdict == "continue")

    def _hear(self, frame: frames.Frame) -> None:
        if isinstance(frame, frames.Done):
            self._settle(frame.ref, DONE)
        elif isinstance(frame, frames.Refused):
            self._settle(frame.ref, frame.answer())
        elif isinstance(frame, frames.Offered):
            number = self._by_id.get(frame.assignment.device_id)
            self._pushed(number, frame.assignment)
            if number is None:
                self._note("offers for strangers")
            else:
                self._exchange.offered(number, frame.assignment)
        elif isinstance(frame, frames.Withdrawn):
            # Only the phone that took the assignment knows it, so ask all phones of this line.
            for number in self._known:
                self._exchange.withdrawn(number, frame.assignment_id, frame.run)
        elif isinstance(frame, frames.Complaint):
            self._note(f"complaints {frame.code}")

    def _settle(self, ref: int, answer: Answer) -> None:
        sent = self._unanswered.pop(ref, None)
        if sent is None:
            return
        self._settled(sent, answer)
        self._exchange.answered(sent.number, sent.errand, answer)

    def _hang_up(self) -> None:
        """Drop unsent frames, and tell the phones that their unanswered reports are lost. The agents send these reports
        again on the next socket."""
        self._open = False
        while not self._outbox.empty():
            self._outbox.get_nowait()
        unanswered, self._unanswered = self._unanswered, {}
        for sent in unanswered.values():
            self._exchange.answered(sent.number, sent.errand, NO_CONNECTION)

    # For subclasses

    def _note(self, what: str) -> None:
        """Called for something that should not happen often."""
        log.debug("%s: %s", self._name, what)

    def _reported(self, sent: Sent[E]) -> None:
        """Called when a report is sent."""

    def _settled(self, sent: Sent[E], answer: Answer) -> None:
        """Called when a report is answered."""

    def _pushed(self, number: int | None, offer: Offer) -> None:
        """Called for each offer. `number`: of its phone; None if the phone is none of this line."""

    def _power_s(self) -> float | None:
        """Return the real seconds until the power fails. None if it will not."""
        return None

    async def _wait_for_power(self) -> None:
        """Wait until there is power."""
