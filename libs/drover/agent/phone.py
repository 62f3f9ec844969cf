"""One phone of an agent: connects its session to the platform, by HTTP or a socket, and to the function that works."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal, NamedTuple

from drover.agent.client import PhoneClient
from drover.agent.clock import Clock
from drover.agent.handled_run import HandledRun
from drover.agent.observer import End
from drover.agent.protocol import ADVICE, Action, Answer, Heartbeat, Holding, Offer, Report
from drover.agent.session import Session
from drover.agent.socket import SocketLine
from drover.agent.store import FileStore, Kept
from drover.agent.work import UNKNOWN, Handler, Upload
from drover.domain.fleet.policy import RULES

Transport = Literal["socket", "http"]
DRAIN_S: Final = 3.0
"""How many seconds a phone waits at its end for the answers to its last requests, and for its work to stop."""
NOT_FOUND: Final = 404
log = logging.getLogger(__name__)


class Errand(NamedTuple):
    """An action on its way to the platform."""

    action: Action


class Condition(NamedTuple):
    """What heartbeats say about the phone itself. None: nothing."""

    screen_locked: bool | None = None
    battery_pct: int | None = None


class ProgressFile(FileStore):
    """The store of one phone. If the disk is full, the work goes on, but does not survive a crash."""

    def keep(self, kept: Kept) -> None:
        try:
            super().keep(kept)
        except OSError as error:
            log.error("The progress was not stored, and a crash would lose it: %s", error)

    def forget(self) -> None:
        try:
            super().forget()
        except OSError as error:
            log.error("Finished work could not be removed from the store: %s", error)


class WorkLog:
    """Logs what becomes of a phone's work (`drover.agent.observer.Observer`)."""

    def __init__(self, serial: str) -> None:
        self._serial = serial

    def offered(self, offer: Offer, repeated: bool) -> None: ...

    def began(self, offer: Offer) -> None:
        log.info("%s: begins %s of job %s", self._serial, _name(offer), offer.job.title or offer.job_id)

    def resumed(self, offer: Offer) -> None:
        log.info("%s: has %s from before, and asks whether it is still wanted", self._serial, _name(offer))

    def ended(self, offer: Offer, end: End, said: Report | None, answer: Answer | None) -> None:
        if end is not End.FAILED or said is None or said.error_code is None:
            log.info("%s: %s is %s", self._serial, _name(offer), end)
        elif said.error_code in RULES:
            log.info("%s: %s is %s with %s", self._serial, _name(offer), end, said.error_code)
        else:
            log.warning("%s: %s is %s with %s", self._serial, _name(offer), end, _unknown(said.error_code))


class Phone:
    """One phone. `run` keeps it working until it is cancelled. It makes the runs of its session, and is the `Exchange`
    of its socket."""

    def __init__(
        self,
        serial: str,
        handler: Handler,
        client: PhoneClient,
        clock: Clock,
        progress: Path,
        *,
        transport: Transport = "socket",
        device_id: str | None = None,
        dialling: asyncio.Semaphore | None = None,
    ) -> None:
        """`progress`: the file for the progress of its work. `device_id`: its id on the platform, if that is known."""
        self.serial = serial
        self.condition = Condition()
        self._handler = handler
        self._client = client
        self._clock = clock
        self._device_id = device_id
        self._run: HandledRun | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._asks_session = self._stopping = False
        self._refused_with: int | None = None
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_lost = False
        self._line: SocketLine[Errand] | None = None
        if transport == "socket":
            self._line = SocketLine({"serial_number": serial}, {serial: 0}, self, client, clock, dialling=dialling)
        store = ProgressFile(progress, clock)
        self._session = Session(self, store, now=clock.now(), polls=self._line is None, observer=WorkLog(serial))

    async def run(self) -> None:
        """Work until cancelled. A run that is not complete stays in the store, and goes on at the next start."""
        line = None if self._line is None else asyncio.create_task(self._line.run(), name=f"socket of {self.serial}")
        try:
            self._ask_session()
            await asyncio.wait([self._failed, *filter(None, [line])], return_when=asyncio.FIRST_COMPLETED)
            for ended in filter(None, [self._failed, line]):
                if ended.done():
                    ended.result()
        finally:
            await self._stop(line)

    async def _stop(self, line: asyncio.Task[None] | None) -> None:
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        if self._run is not None:
            self._run.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                if self._run is not None:
                    await self._run.ended()
                if self._asking:
                    await asyncio.wait(self._asking)
        for task in filter(None, [line, *self._asking]):
            task.cancel()
            await asyncio.wait([task])

    # The session

    def _ask_session(self) -> None:
        """Send what is due, and come back when the next action is."""
        if self._asks_session or self._stopping:
            return  # the loop below goes on with what changed meanwhile
        self._asks_session = True
        try:
            while (action := self._session.next_action(self._clock.now())) is not None:
                self._send(action)
        finally:
            self._asks_session = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due_at = self._session.due_at
        if due_at < math.inf:
            wait_s = self._clock.real_s(max(0.0, due_at - self._clock.now()))
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._wake)

    def _wake(self) -> None:
        try:
            self._ask_session()
        except Exception as error:  # a timer has nobody to raise to
            if not self._failed.done():
                self._failed.set_exception(error)

    def _send(self, action: Action) -> None:
        if isinstance(action, Heartbeat):
            action = Heartbeat(action.status, *self.condition)
        if self._line is not None:
            self._line.carry(0, Errand(action))
            return
        task = asyncio.create_task(self._ask(action), name=f"request of {self.serial}")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, action: Action) -> None:
        self.answered(0, Errand(action), await self._outcome(action))

    async def _outcome(self, action: Action) -> Answer:
        if isinstance(action, Heartbeat):
            return await self._client.heartbeat(self.serial, action)
        if isinstance(action, Report):
            return await self._client.report(action, self._clock, self.serial)
        if self._device_id is None:
            answer, self._device_id = await self._client.device_id(self.serial)
            if not answer.ok:
                return answer
        return Answer(NOT_FOUND) if self._device_id is None else await self._client.poll(self._device_id, self.serial)

    # Callbacks of the socket (`drover.agent.socket.Exchange`), also used over HTTP

    def answered(self, number: int, errand: Errand, answer: Answer) -> None:
        if self._line is None:  # a socket says itself whether it is connected
            if answer.connected:
                self._is_lost = False
            else:
                self.disconnected(number)
        if answer.ok:
            self._refused_with = None
        elif answer.status in ADVICE and not (isinstance(errand.action, Report) and answer.status == NOT_FOUND):
            self._complain(answer.status)
        self._session.answered(errand.action, answer, self._clock.now())
        self._ask_session()

    def offered(self, number: int, offer: Offer) -> None:
        self._session.offered(offer, self._clock.now())
        self._ask_session()

    def withdrawn(self, number: int, assignment_id: str, run: int) -> None:
        self._session.withdrawn(assignment_id, run, self._clock.now())
        self._ask_session()

    def connected(self, number: int) -> None:
        log.info("%s: connected", self.serial)
        self._refused_with = None
        self._is_lost = False
        self._session.connected(self._clock.now())
        self._ask_session()

    def judged(self, number: int, assignment_id: str, run: int, goes_on: bool) -> None:
        self._session.judged(assignment_id, run, goes_on, self._clock.now())
        self._ask_session()

    def holding(self, number: int) -> Holding | None:
        return self._session.holding()

    def unknown(self, number: int) -> None:
        self._complain(NOT_FOUND)

    def disconnected(self, number: int) -> None:
        """Log that there is no connection, once until there is one."""
        if not self._is_lost:
            self._is_lost = True
            log.warning("%s: no connection to %s; trying again until there is one", self.serial, self._client.url)

    def _complain(self, status: int | None) -> None:
        """Log a refusal, once until something succeeds."""
        if status is not None and status != self._refused_with:
            self._refused_with = status
            log.error("%s: refused with %s: %s", self.serial, status, ADVICE[status])

    # Its work (`drover.agent.session.Runs`)

    def begin(self, offer: Offer, now: float) -> HandledRun:
        after = None if self._run is None or self._run.has_ended else self._run
        self._run = HandledRun(
            offer, self.serial, self._handler, self._ask_session, now, self._upload_for(offer), after=after
        )
        return self._run

    def recall(self, kept: Kept, now: float) -> HandledRun:
        self._run = HandledRun(
            kept.offer, self.serial, self._handler, self._ask_session, now, self._upload_for(kept.offer), kept=kept
        )
        return self._run

    def _upload_for(self, offer: Offer) -> Upload:
        async def upload(picture: bytes) -> str | None:
            answer, reference = await self._client.upload(offer.id, offer.run, picture, self.serial)
            if reference is None:
                why = answer.code or answer.status or "no answer"
                log.warning("%s: the picture of %s was not kept: %s", self.serial, _name(offer), why)
            return reference

        return upload


def _name(offer: Offer) -> str:
    return f"assignment {offer.id} (run {offer.run})"


def _unknown(code: str) -> str:
    """Say what becomes of an error code that Drover has no rule for, which may be mistyped."""
    near = get_close_matches(code.upper(), RULES, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{code}. Drover has no rule for this code, and treats it as an unknown error ({UNKNOWN}).{meant}"
