"""A gateway's sockets on a real port, before a writer that decides by the fleet's own rules, in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from drover.bus.messages import Accepted, Outcome
from drover.domain.decider import Command, Tick
from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import CreateJob, MarkOnline, RegisterDevice
from drover.gateway.limits import DeviceLimits
from drover.gateway.offers import Offers
from drover.gateway.reports import Reports
from drover.gateway.roster import Roster
from drover.gateway.sockets import PATH, AgentSockets
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.permissions import Permissions
from drover.web.serve import serve
from tests.unit.gateway.office import SECRET, Writer, device_id, fleet_client
from tests.unit.web.known_keys import KnownKeys

PATIENCE_S = 10.0
GRACE_S = 10.0

Frame = dict[str, Any]


class Feed:
    """Stands in for the log between writer and roster."""

    def __init__(self, roster: Roster) -> None:
        self.events: list[Event] = []
        self.lags = False
        """The roster does not hear of commits."""
        self._roster = roster
        self._unheard: list[tuple[Sequence[Event], int]] = []

    def apply(self, events: Sequence[Event], seq: int) -> None:
        self.events += events
        self._unheard.append((events, seq))
        if not self.lags:
            self.catch_up()

    def catch_up(self) -> None:
        self.lags = False
        commits, self._unheard = self._unheard, []
        for events, seq in commits:
            self._roster.apply(events, seq)

    def count(self, kind: type[Event], **fields: Any) -> int:
        return sum(
            type(event) is kind and all(getattr(event, name) == value for name, value in fields.items())
            for event in self.events
        )

    async def wait(self, context: str, seq: int, timeout_s: float) -> bool:
        """As a `Waiter`: how far the roster is."""
        return self._roster.seq >= seq


class PatientWriter(Writer):
    """Does what is due by itself, and can be made to wait."""

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed)
        self.asked: list[Command] = []
        self.is_held: Callable[[Command], bool] = lambda command: False
        """Commands that it lets wait."""
        self._released = asyncio.Condition()

    async def send(self, context, command, **rest):
        self.asked.append(command)
        async with self._released:
            await self._released.wait_for(lambda: not self.is_held(command))
        return await super().send(context, command, **rest)

    async def release(self) -> None:
        self.is_held = lambda command: False
        async with self._released:
            self._released.notify_all()

    def do(self, command: Command) -> Outcome:
        outcome = super().do(command)
        while (deadline := FLEET.next_deadline(self.fleet.state)) is not None and deadline <= self.fleet.now:
            super().do(Tick())
        return outcome

    def pass_time(self, **duration: float) -> None:
        self.fleet.after(**duration)
        self.do(Tick())


class Telemetry:
    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, Any] | None]] = []
        self.progressed: list[tuple[str, int]] = []

    def beat(self, device_id, seen_at, reported):
        self.heard.append((device_id, reported))

    def progress(self, device_id, seen_at, work):
        self.progressed.append((device_id, work.progress_pct))


class Agent:
    """The other end of a socket."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.socket = socket
        self._refs = 1000

    async def say(self, type_: str, **fields: Any) -> None:
        await self.socket.send_json({"type": type_, **fields})

    async def hear(self) -> Frame:
        """The next frame."""
        message = await self.socket.receive(PATIENCE_S)
        assert message.type is WSMsgType.TEXT, message
        return message.json()

    async def hello(self, serial: str | None = None, *, pc: str | None = None, holding=()) -> Frame:
        held = [{"assignment_id": assignment_id, "run": run} for assignment_id, run in holding]
        whom = {"pc_id": pc} if pc else {"serial_number": serial}
        await self.say("hello", **whom, holding=held)
        return await self.hear()

    async def report(self, ref: int, offer: Frame, status: str, **fields: Any) -> None:
        await self.say("report", ref=ref, assignment_id=offer["id"], run=offer["run"], status=status, **fields)

    async def offered(self) -> Frame:
        frame = await self.hear()
        assert frame["type"] == "offer", frame
        return frame["assignment"]

    async def hears_nothing_else(self) -> None:
        """What was on its way is here before the answer to what is said now; asked twice, to be sure."""
        for _ in range(2):
            self._refs += 1
            await self.say("report", ref=self._refs, assignment_id="nobody's", status="running")
            frame = await self.hear()
            assert (frame["type"], frame.get("ref")) == ("refused", self._refs), frame

    async def closed(self) -> int:
        """The code with which the server closes; frames before it are not expected."""
        message = await self.socket.receive(PATIENCE_S)
        assert message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED), message
        code = self.socket.close_code
        assert code is not None
        return code


class Farm:
    """Phones, a writer and one gateway."""

    client: ClientSession

    def __init__(self, *, per_s: float = 10_000, burst: int = 10_000) -> None:
        """`per_s`, `burst`: the limit of each device."""
        self.serving = AsyncExitStack()
        self.roster = Roster()
        self.roster.complete = True
        self.feed = Feed(self.roster)
        self.writer = PatientWriter(self.feed)
        self.telemetry = Telemetry()
        self.clock_ahead = timedelta()
        self.keys = KnownKeys()
        self._registered = 0
        self._agents: list[Agent] = []
        client = fleet_client(self.writer, self.feed, self.feed)
        limits = DeviceLimits(self.writer, per_s=per_s, burst=burst)
        self.access = Access(Authenticator([SECRET], keys=self.keys), Permissions(), Callers())
        self.sockets = AgentSockets(
            self.access,
            self.roster,
            Offers(self.roster, client),
            Reports(self.roster, client, self.telemetry, limits),
            self.telemetry,
            limits,
            clock=lambda: datetime.now(UTC) + self.clock_ahead,
        )
        self.anon = {"apikey": issue_api_key(SECRET, Role.ANON, now_s=time.time())}

    def phones(self, count: int = 1, *, pc: str = "PC-01", online: bool = True) -> list[str]:
        """Serial numbers of new ones."""
        serials = []
        for _ in range(count):
            self._registered += 1
            number = self._registered
            serials.append(f"SERIAL{number:04}")
            self.writer.do(RegisterDevice(device_id(number), serials[-1], "P1-G1", pc))
            if online:
                self.writer.do(MarkOnline(device_id(number)))
        return serials

    def device_id(self, serial: str) -> str:
        return self.roster.fleet.device_by_serial[serial]

    def job(self, number: int = 1, **fields: Any) -> str:
        job_id = device_id(1_000_000 + number)
        outcome = self.writer.do(CreateJob(job_id=job_id, target_url=f"https://youtu.be/{number}", **fields))
        assert isinstance(outcome, Accepted), outcome
        return job_id

    async def connect(self, headers: dict[str, str] | None = None, **options: Any) -> Agent:
        socket = await self.client.ws_connect(PATH, headers=self.anon if headers is None else headers, **options)
        self._agents.append(Agent(socket))  # a socket that nobody holds is closed
        return self._agents[-1]

    async def stop(self) -> None:
        await self.serving.aclose()

    async def agent(self, serial: str, *, holding=()) -> Agent:
        """One that was welcomed."""
        agent = await self.connect()
        welcome = await agent.hello(serial, holding=holding)
        assert welcome["type"] == "welcome", welcome
        return agent


@asynccontextmanager
async def running_farm(**limits: float) -> AsyncIterator[Farm]:
    farm = Farm(**limits)
    app = create_application(Health(), body_bytes_max=1024)
    add_handlers(app, [farm.sockets], farm.access)
    async with farm.serving:
        port = await farm.serving.enter_async_context(serve(app, "127.0.0.1", 0, grace_s=GRACE_S))
        async with ClientSession(f"http://127.0.0.1:{port}") as client:
            farm.client = client
            yield farm
