"""A WebSocket connection (line) of a PC with its phones, or of one phone: connects, sends and receives, reconnects.

It does not decide what phones send; it reaches the phones through an `Exchange`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from random import Random
from time import monotonic
from typing import Final, NamedTuple, Protocol

import aiohttp
import msgspec
import structlog

from drover.simulator import frames
from drover.simulator.agent import Holding
from drover.simulator.backoff import AgentBackoff
from drover.simulator.clock import Clock
from drover.simulator.http import Client
from drover.simulator.phone import Errand
from drover.simulator.protocol import DONE, NO_ANSWER, NO_CONNECTION, Answer, Heartbeat, Offer, Report, body_of
from drover.simulator.script import Episode, Troubles
from drover.simulator.tally import Tally

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
FREED_REMEMBERED_MAX: Final = 64
FREED_S_MAX: Final = 30.0
"""The longest time in seconds from a freed slot to the next offer of the same job that is measured. A longer one means
that there was no work for the slot, so it says nothing about the platform."""

UNKNOWN_SUBJECT: Final = 4404
REFUSALS: Final = {4400: 400, 4401: 401, 4403: 403}
"""The close codes with which the platform refuses a socket, and the HTTP status for each."""

log = structlog.stdlib.get_logger(__name__)


class Exchange(Protocol):
    """The phones of the farm, by number, as a line sees them."""

    def answered(self, number: int, errand: Errand, answer: Answer) -> None: ...

    def offered(self, number: int, offer: Offer) -> None: ...

    def withdrawn(self, number: int, assignment_id: str, run: int) -> None: ...

    def connected(self, number: int) -> None: ...

    def judged(self, number: int, assignment_id: str, run: int, goes_on: bool) -> None: ...

    def holding(self, number: int) -> Holding | None: ...

    def unknown(self, number: int) -> None:
        """Called when the platform does not know this phone."""
        ...


class _Sent(NamedTuple):
    number: int
    errand: Errand
    at: float


class _Ended(NamedTuple):
    """Why a socket ended."""

    answer: Answer
    """The equivalent HTTP answer, which determines the pause before the next socket."""
    reconnect_after_s: float | None = None


class SocketLine:
    """The line of a PC or of one phone. `carry` sends what phones want to send; `run` keeps a socket open, unless the
    PC or phone has no power or the platform refuses the socket."""

    def __init__(
        self,
        subject: dict[str, str],
        phones: Mapping[str, int],
        exchange: Exchange,
        client: Client,
        clock: Clock,
        tally: Tally,
        *,
        troubles: Iterator[Episode] | None = None,
        dialling: asyncio.Semaphore | None = None,
    ) -> None:
        """`phones`: for each serial number, the number of the phone in the exchange."""
        self._subject = subject
        self._name = next(iter(subject.values()))
        self._phones = phones
        self._exchange = exchange
        self._client = client
        self._clock = clock
        self._tally = tally
        self._troubles = Troubles(troubles if troubles is not None else iter(()))
        self._dialling = dialling or asyncio.Semaphore(1)
        self._dice = Random(f"{self._name} reconnects")
        self._backoff = AgentBackoff()
        self._refs = count(1)
        self._serial_of = {number: serial for serial, number in phones.items()}
        self._outbox: asyncio.Queue[str] = asyncio.Queue(FRAMES_WAITING_PER_PHONE_MAX * len(phones) + 1)
        self._open = False
        self._by_id: dict[str, int] = {}
        self._known: set[int] = set()
        self._holders: dict[str, int] = {}
        """For each assignment: the phone that holds it, according to the last `hello` (the first frame of a socket)."""
        self._unanswered: dict[int, _Sent] = {}
        self._job_of: dict[int, str] = {}
        """For each phone: the last job that it was offered."""
        self._freed: deque[tuple[float, str]] = deque(maxlen=FREED_REMEMBERED_MAX)
        """When slots were freed, and which job freed each."""
        self._renew = asyncio.Event()
        self.connections = 0
        """How often the platform has accepted a socket of this line."""

    def renew(self) -> None:
        """Reconnect and send a new `hello` (first frame), after unknown phones were registered."""
        self._renew.set()

    # From the phones

    def carry(self, number: int, errand: Errand) -> None:
        """Send an errand. The exchange gets its outcome: for a heartbeat at once, for a report when it is answered."""
        answer = self._carry(number, errand)
        if answer is not None:
            self._exchange.answered(number, errand, answer)

    def _carry(self, number: int, errand: Errand) -> Answer | None:
        action = errand.action
        if not self._open or self._outbox.full():
            return NO_CONNECTION
        if number not in self._known:
            return Answer(404)
        if isinstance(action, Heartbeat):
            self._outbox.put_nowait(frames.heartbeat(self._serial_of[number], action.status, datetime.now(UTC)))
            self._give_up_waiting()
            return DONE
        assert isinstance(action, Report), "work is pushed on a socket, nobody polls"
        ref, now = next(self._refs), monotonic()
        self._unanswered[ref] = _Sent(number, errand, now)
        if action.status == "completed" and not errand.repeated:
            self._freed.append((now, self._job_of.get(number, "")))
        self._outbox.put_nowait(frames.report(ref, action.assignment_id, body_of(action, self._clock.wall)))
        return None

    def _give_up_waiting(self) -> None:
        oldest = next(iter(self._unanswered.values()), None)
        if oldest is not None and monotonic() - oldest.at > REPORT_S:
            log.warning("report_not_answered", line=self._name, within_s=REPORT_S)
            self._renew.set()

    # The socket

    async def run(self) -> None:
        """Keep a socket open for ever. Cancel it to close the socket."""
        while True:
            await self._wait_for_power()
            self._renew.clear()
            async with self._dialling:
                answer, socket = await self._client.dial()
            ended = _Ended(answer) if socket is None else await self._live(socket)
            pause_s = self._backoff.pause_after(ended.answer, self._clock.now())
            if ended.reconnect_after_s is not None:
                pause_s = ended.reconnect_after_s + self._dice.uniform(0, RECONNECT_SPREAD_S)
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
            self._tally.count("frames not understood")
            return None

    def _why(self, socket: aiohttp.ClientWebSocketResponse, bye: frames.Frame | None) -> _Ended:
        code = socket.close_code
        if code == UNKNOWN_SUBJECT:
            for number in self._phones.values():
                self._exchange.unknown(number)
            return _Ended(Answer(404))
        if isinstance(bye, frames.Bye):
            return _Ended(DONE, reconnect_after_s=bye.reconnect_after_s)
        if code in REFUSALS:
            log.warning("socket_refused", line=self._name, close_code=code)
            return _Ended(Answer(REFUSALS[code]))
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
            self._measure_next_offer(frame.assignment.job_id)
            number = self._by_id.get(frame.assignment.device_id)
            if number is None:
                self._tally.count("offers for strangers")
            else:
                self._job_of[number] = frame.assignment.job_id
                self._exchange.offered(number, frame.assignment)
        elif isinstance(frame, frames.Withdrawn):
            # Only the phone that took the assignment knows it, so ask all phones of this line.
            for number in self._known:
                self._exchange.withdrawn(number, frame.assignment_id, frame.run)
        elif isinstance(frame, frames.Complaint):
            self._tally.count(f"complaints {frame.code}")

    def _settle(self, ref: int, answer: Answer) -> None:
        sent = self._unanswered.pop(ref, None)
        if sent is None:
            return
        if answer.ok and isinstance(sent.errand.action, Report) and sent.errand.action.is_final:
            self._tally.done.add(monotonic() - sent.at)
        self._exchange.answered(sent.number, sent.errand, answer)

    def _measure_next_offer(self, job_id: str) -> None:
        now = monotonic()
        while self._freed:
            freed_at, of_job = self._freed.popleft()
            if of_job == job_id and now - freed_at <= FREED_S_MAX:
                self._tally.next_offer.add(now - freed_at)
                return

    def _hang_up(self) -> None:
        """Drop unsent frames, and tell the phones that their unanswered reports are lost. The agents send these reports
        again on the next socket."""
        self._open = False
        self._freed.clear()
        while not self._outbox.empty():
            self._outbox.get_nowait()
        unanswered, self._unanswered = self._unanswered, {}
        for sent in unanswered.values():
            self._exchange.answered(sent.number, sent.errand, NO_CONNECTION)

    # Power

    def _power_s(self) -> float | None:
        """Return the real seconds until the next fault. None if there will be none."""
        now = self._clock.now()
        self._troubles.at(now)
        following = self._troubles.next
        return None if following is None else self._clock.real_s(following.start - now)

    async def _wait_for_power(self) -> None:
        while True:
            now = self._clock.now()
            if (episode := self._troubles.at(now)) is None:
                return
            await asyncio.sleep(self._clock.real_s(episode.end - now))
