"""The simulated nexrender's server: HTTP, the secret, faults, and the clock of its machines."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Final, Literal

import msgspec
from aiohttp import web

from drover.simulator.clock import Clock
from drover.simulator.nexrender.apis import Answer, Api, RealApi, SimplifiedApi
from drover.simulator.nexrender.clock import HandClock
from drover.simulator.nexrender.machines import Machines
from drover.simulator.nexrender.movie import prepare
from drover.simulator.nexrender.output_folder import OutputFolder
from drover.simulator.nexrender.script import CALM, Outcome, Script, Trouble
from drover.simulator.nexrender.store import Jobs
from drover.simulator.script import Episode, Fault, episodes
from drover.web.serve import serve

HOST: Final = "127.0.0.1"
PREFIX: Final = "/api/v1/"
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
GRACE_S: Final = 1.0
LOOK_EVERY_S: Final = 1.0
"""Longest sleep of the machines, because an outage may begin meanwhile."""
REFUSAL: Final = 'Wrong or no authentication secret provided. Please check the "nexrender-secret" header.'
PROXY_PAGE: Final = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

Speech = Literal["nexrender", "simplified"]


class SimulatedNexrender:
    """A running server. Made by `simulated_nexrender`."""

    def __init__(
        self,
        folder: OutputFolder,
        *,
        dialect: Speech,
        secret: str,
        machines: int,
        script: Script,
        clock: Clock | HandClock,
        seed: int,
        lists: bool,
    ) -> None:
        self.jobs = Jobs()
        """The server's jobs; a test may act as the worker and change them."""
        self.calls: Counter[str] = Counter()
        """Number of requests by method and route: `POST jobs`, `GET jobs/…`."""
        self.troubles: list[Trouble] = []
        """Its present faults. The first one that matches a request applies."""
        self.url = ""
        self.life: asyncio.Task[None] | None = None
        """The task that runs its machines in real time. Ends with the server, or with a defect of the simulator."""
        self.clock = clock
        self._secret = secret
        self._machines = Machines(self.jobs, script, folder, machines=machines, seed=seed)
        self._api: Api = (
            RealApi(self.jobs, self._new_work)
            if dialect == "nexrender"
            else SimplifiedApi(self.jobs, self._new_work, lists=lists)
        )
        faults = tuple(Fault(outage.kind, outage.every_s, outage.lasts_s, False) for outage in script.outages)
        self._outages = episodes(faults, Random(seed))
        self._outage: Episode | None = next(self._outages, None)
        self._outage_begun = False
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()

    @property
    def renders_begun(self) -> int:
        return self._machines.begun

    def expect(self, *outcomes: Outcome) -> None:
        """Set the outcomes of the next renders."""
        self._machines.next_outcomes.extend(outcomes)

    def forget(self) -> None:
        """Lose the database. Renders in progress continue and write their files."""
        self.jobs.forget()

    def advance(self, seconds: float) -> None:
        """Advance the time of a server with a `HandClock`."""
        assert isinstance(self.clock, HandClock), "this server lives in real time"
        self._live_on()  # start what was requested so far
        self.clock.advance(seconds)
        self._live_on()

    def _new_work(self) -> None:
        self._live_on()
        self._machines.look_for_work()
        self._wake.set()

    def _live_on(self) -> None:
        now = self.clock.now()
        self._machines.advance_to(now)
        while self._outage is not None and self._outage.start <= now:
            if self._outage.fault.name == "forgets" and not self._outage_begun:
                self.forget()
            self._outage_begun = True
            if now < self._outage.end:
                break
            self._outage, self._outage_begun = next(self._outages, None), False

    async def live(self) -> None:
        """Run the machines in real time until cancelled."""
        while True:
            self._live_on()
            wait_s = min(LOOK_EVERY_S, self.clock.real_s(max(0.0, self._machines.next_at() - self.clock.now())))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            self._wake.clear()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = tuple(request.path.removeprefix(PREFIX).split("/")) if request.path.startswith(PREFIX) else ()
        self.calls[f"{request.method} {_route(path)}"] += 1
        trouble = self._trouble_for(request.method)
        if trouble is not None and trouble.kind != "lost_answer":
            response = await self._met(trouble, request)
            if response is not None:
                return response
        response = _response(await self._answer(request, path))
        if trouble is not None and trouble.kind == "lost_answer":
            _cut(request)
        return response

    async def _answer(self, request: web.Request, path: tuple[str, ...]) -> Answer:
        if (request.method, path) == ("GET", ("health",)):
            return Answer(200, "ok")
        if self._secret and request.headers.get("nexrender-secret") != self._secret:
            return Answer(403, REFUSAL)
        return self._api.answer(request.method, path, await request.read())

    def _trouble_for(self, method: str) -> Trouble | None:
        for trouble in self.troubles:
            if trouble.methods and method not in trouble.methods:
                continue
            if trouble.times is not None:
                trouble.times -= 1
                if not trouble.times:
                    self.troubles.remove(trouble)
            return trouble
        self._live_on()
        if self._outage is None or not self._outage_begun or self._outage.fault.name == "forgets":
            return None
        return Trouble(self._outage.fault.name)  # type: ignore[arg-type]  # it was made of a TroubleKind

    async def _met(self, trouble: Trouble, request: web.Request) -> web.Response | None:
        """The fault's response in place of an answer; None if the request is answered after all."""
        match trouble.kind:
            case "down":
                _cut(request)
                return web.Response(status=503)  # never received: the connection is cut
            case "error":
                return web.Response(status=500, text="Internal Server Error")
            case "html":
                return web.Response(status=502, text=PROXY_PAGE, content_type="text/html")
            case "silent":
                await self._closing.wait()
                return web.Response(status=503)
            case "forgets":
                self.forget()
            case "slow":
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), self.clock.real_s(trouble.slow_s))
        return None

    def close(self) -> None:
        self._closing.set()


@asynccontextmanager
async def simulated_nexrender(
    outputs: Path,
    *,
    dialect: Speech = "nexrender",
    secret: str = "",
    machines: int = 2,
    script: Script = CALM,
    clock: Clock | HandClock | None = None,
    seed: int = 1,
    lists: bool = True,
    seen_as: str | None = None,
    port: int = 0,
) -> AsyncIterator[SimulatedNexrender]:
    r"""A server on loopback until the block ends.

    Files are written only to `outputs`, which jobs may also call `seen_as` (`D:\output`). Without machines jobs stay
    queued, and a test acts as the worker. With a `HandClock` time passes by `advance`, else in real time (a
    `Clock(speed)` makes it faster). `lists`: whether the simplified dialect has a list of jobs.
    """
    clock = clock or Clock()
    server = SimulatedNexrender(
        OutputFolder(outputs, seen_as),
        dialect=dialect,
        secret=secret,
        machines=machines,
        script=script,
        clock=clock,
        seed=seed,
        lists=lists,
    )
    app = web.Application(client_max_size=BODY_BYTES_MAX)
    app.router.add_route("*", "/{path:.*}", server.handle)
    if machines:
        await asyncio.to_thread(prepare, script.size)
    async with serve(app, HOST, port, grace_s=GRACE_S) as taken:
        server.url = f"http://{HOST}:{taken}"
        if isinstance(clock, Clock):
            server.life = asyncio.create_task(server.live(), name="simulated nexrender")
        try:
            yield server
        finally:
            server.close()
            if server.life is not None:
                server.life.cancel()
                await asyncio.wait([server.life])


def _route(path: tuple[str, ...]) -> str:
    """The route with … for ids, so that the number of counters is bounded."""
    if path[:1] not in (("jobs",), ("health",)):
        return "?"
    if len(path) > 1 and path[1] not in ("pickup", "status"):
        path = (path[0], "…", *path[2:])
    return "/".join(path[:2]) + ("/…" if len(path) > 2 else "")


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _response(answer: Answer) -> web.Response:
    if answer.body is None:
        return web.Response(status=answer.status)
    if isinstance(answer.body, str):
        return web.Response(status=answer.status, text=answer.body)
    return web.Response(status=answer.status, body=msgspec.json.encode(answer.body), content_type="application/json")
