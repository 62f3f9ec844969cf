"""The HTTP server of the simulated nexrender. It checks the secret, simulates outages, and advances the machines'
time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Final

import msgspec
from aiohttp import web

from drover.agent.clock import Clock
from drover.service.tasks import end
from drover.simulator.nexrender.apis import Answer, Api, RealApi
from drover.simulator.nexrender.machines import Machines
from drover.simulator.nexrender.movie import prepare
from drover.simulator.nexrender.output_folder import OutputFolder
from drover.simulator.nexrender.script import CALM, Script
from drover.simulator.nexrender.store import Jobs
from drover.simulator.script import Troubles, episodes
from drover.web.serve import serve

HOST: Final = "127.0.0.1"
PREFIX: Final = "/api/v1/"
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
GRACE_S: Final = 1.0
SLEEP_S_MAX: Final = 1.0
"""The longest sleep in seconds between two advances of the machines. A new job ends it earlier."""
REFUSAL: Final = 'Wrong or no authentication secret provided. Please check the "nexrender-secret" header.'
ApiOf = Callable[[Jobs, Callable[[], None]], Api]
"""Makes the API for these jobs. The API calls the given function when there may be new work."""


class SimulatedNexrender:
    """A running simulated server. Made by `simulated_nexrender`."""

    def __init__(
        self, folder: OutputFolder, *, api_of: ApiOf, secret: str, machines: int, script: Script, clock: Clock
    ) -> None:
        self.jobs = Jobs()
        """The server's jobs. A test may act as the worker and change them."""
        self.url = ""
        self._clock = clock
        self._secret = secret
        self._machines = Machines(self.jobs, script, folder, machines=machines)
        self._api = api_of(self.jobs, self._new_work)
        self._outages = Troubles(episodes(script.outages, Random(1)))
        self._wake = asyncio.Event()

    @property
    def renders_begun(self) -> int:
        return self._machines.begun

    def catch_up(self) -> None:
        """Do all work of the machines that is due by now."""
        self._machines.advance_to(self._clock.now())

    def _new_work(self) -> None:
        self.catch_up()
        self._machines.look_for_work()
        self._wake.set()

    async def live(self) -> None:
        """Run the machines until cancelled."""
        while True:
            self.catch_up()
            wait_s = min(SLEEP_S_MAX, self._clock.real_s(max(0.0, self._machines.next_at() - self._clock.now())))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            self._wake.clear()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self._outages.at(self._clock.now()) is not None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=503)  # the client does not get this: the connection is cut
        path = tuple(request.path.removeprefix(PREFIX).split("/")) if request.path.startswith(PREFIX) else ()
        return _response(await self._answer(request, path))

    async def _answer(self, request: web.Request, path: tuple[str, ...]) -> Answer:
        if (request.method, path) == ("GET", ("health",)):
            return Answer(200, "ok")
        if self._secret and request.headers.get("nexrender-secret") != self._secret:
            return Answer(403, REFUSAL)
        return self._api.answer(request.method, path, await request.read())


@asynccontextmanager
async def simulated_nexrender(
    outputs: Path,
    *,
    api_of: ApiOf = RealApi,
    secret: str = "",
    machines: int = 2,
    script: Script = CALM,
    clock: Clock | None = None,
) -> AsyncIterator[SimulatedNexrender]:
    """Run a simulated nexrender server on the loopback address while the block runs.

    Files are written only to `outputs`. Without machines, jobs stay queued, and a test acts as the worker.
    """
    server = SimulatedNexrender(
        OutputFolder(outputs),
        api_of=api_of,
        secret=secret,
        machines=machines,
        script=script,
        clock=clock or Clock(),
    )
    app = web.Application(client_max_size=BODY_BYTES_MAX)
    app.router.add_route("*", "/{path:.*}", server.handle)
    if machines:
        await asyncio.to_thread(prepare, script.size)
    async with serve(app, HOST, 0, grace_s=GRACE_S) as taken:
        server.url = f"http://{HOST}:{taken}"
        life = asyncio.create_task(server.live(), name="simulated nexrender")
        try:
            yield server
        finally:
            await end(life)


def _response(answer: Answer) -> web.Response:
    if answer.body is None:
        return web.Response(status=answer.status)
    if isinstance(answer.body, str):
        return web.Response(status=answer.status, text=answer.body)
    return web.Response(status=answer.status, body=msgspec.json.encode(answer.body), content_type="application/json")
