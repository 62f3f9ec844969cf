"""A render farm in memory, on virtual time: the real decider and worker, a nexrender by script, a NAS that can fail."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import ClassVar

import msgspec

from drover.bus.messages import Accepted, Rejected
from drover.domain.decider import Rejection, Tick
from drover.domain.render import RENDER
from drover.domain.render import commands as c
from drover.domain.render.polling import Pace
from drover.nas.store import Digest, NasAway
from drover.render.composition_cache import CompositionCache
from drover.render.nexrender.answers import RemoteJob
from drover.render.nexrender.errors import NexrenderDown
from drover.render.nexrender.states import Dialect, Stage
from drover.render.queue import Queue
from drover.render.stops import Stops
from drover.render.sweeper import sweep
from drover.render.validation import FileFacts, OutputInvalid
from drover.render.worker import Worker
from drover.render.workers import Workers
from drover.render.workshop import Folders, Workshop
from drover.service.tasks import end
from drover.testing.scenario import Scenario

GFX = {"slots": [{"slot_number": 1, "fields": {"name": "PHIL IVEY"}}]}


class Office:
    """The writer of `render`, in this process: decides at once, and ticks when a deadline has come."""

    def __init__(self, loop) -> None:
        self._loop = loop
        self.scenario = Scenario(RENDER, now=loop.now())
        self.events = []
        self.deaf = False
        self._skew = timedelta()
        self._deadlines_moved = asyncio.Event()
        self.swallow = []
        """Kinds of commands that take effect once and are not answered."""
        self.on_events = lambda events: None
        self._told = {}

    def now(self):
        return self._loop.now() + self.skew

    @property
    def skew(self):
        """How far its clock is ahead of the workers'."""
        return self._skew

    @skew.setter
    def skew(self, ahead):
        self._skew = ahead
        self._move_deadlines()

    async def send(self, context, command, *, by, id=None):
        assert context == "render"
        await asyncio.sleep(0)
        if self.deaf:
            return Rejected("UNAVAILABLE", "nobody answered")
        outcome = self.answer(command, id)
        if type(command) in self.swallow:
            self.swallow.remove(type(command))
            return Rejected("UNAVAILABLE", "nobody answered")
        return outcome

    def answer(self, command, id=None):
        """Asked again under the same id, it says the same."""
        if id is not None and id in self._told:
            return self._told[id]
        outcome = self.do(command)
        if id is not None and self.scenario.decision.events:
            self._told[id] = outcome
        return outcome

    def do(self, command):
        scenario = self.scenario
        scenario.now = self.now()
        scenario.when(command)
        decision = scenario.decision
        self._note(decision.events)
        if decision.rejection is not None:
            return Rejected(decision.rejection.code, decision.rejection.message, decision.rejection.details)
        result = RENDER.answer(decision.events) if decision.events else decision.result
        assert not isinstance(result, Rejection)
        # As it comes over the bus: through JSON.
        return Accepted(len(self.events), msgspec.json.decode(msgspec.json.encode(result)))

    def _note(self, events):
        self.events += events
        if events:
            self._move_deadlines()
            self.on_events(events)

    async def clock(self):
        while True:
            deadline = RENDER.next_deadline(self.scenario.state)
            if deadline is not None and deadline <= self.now():
                self.do(Tick())
                continue
            left_s = None if deadline is None else (deadline - self.now()).total_seconds()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._deadlines_moved.wait(), left_s)

    def _move_deadlines(self):
        """Wake every clock. Each waits for an event of its own time, so that none clears it for another."""
        moved, self._deadlines_moved = self._deadlines_moved, asyncio.Event()
        moved.set()

    def told(self, *types):
        return [event for event in self.events if isinstance(event, types)]

    def render(self, render_id=1):
        return self.scenario.state.renders[render_id]


class FakeNexrender:
    """Renders in 30 s unless told otherwise."""

    def __init__(self, loop, files) -> None:
        self._loop = loop
        self._files = files
        self.jobs = {}
        self.down = False
        self.script = []
        """What the next jobs do: a list of (seconds, stage, progress), or None for the usual."""
        self.submissions = []
        self.duplicates = []
        """A duplicate uid would be rendered again and again: there must be none, in any story."""
        self.removed = []

    async def health(self):
        self._answer()

    async def find(self, uid):
        self._answer()
        job = self.jobs.get(uid)
        if job is None:
            return None
        began, steps, error = job
        stage, progress = Stage.RENDERING, 0
        for after_s, then, pct in steps:
            if self._loop.time() - began >= after_s:
                stage, progress = then, pct
        return RemoteJob(uid, stage, progress, str(stage), error if stage is Stage.ERROR else None, Dialect.NEXRENDER)

    async def submit(self, document):
        self._answer()
        uid = document["uid"]
        if uid in self.jobs:
            self.duplicates.append(uid)
        planned = self.script.pop(0) if self.script else None
        steps, error, content = planned or (USUAL, None, None)
        self.jobs[uid] = (self._loop.time(), steps, error)
        self.submissions.append(document)
        (copy,) = document["actions"]["postrender"]
        self._files.files[Path(copy["output"])] = content or f"film {uid}".encode()
        return await self.find(uid)

    async def remove(self, uid):
        self._answer()
        self.removed.append(uid)
        self.jobs.pop(uid, None)

    def _answer(self):
        if self.down:
            raise NexrenderDown("find", "connection refused")


USUAL = [(5, Stage.RENDERING, 40), (20, Stage.ENCODING, 90), (30, Stage.FINISHED, 90)]


class Files:
    """Rendered files, as the worker's disk has them."""

    def __init__(self) -> None:
        self.files = {}
        self.checks = 0
        self.valid_after = 0
        """Checks that fail before one succeeds."""

    async def validate(self, path):
        self.checks += 1
        if path not in self.files:
            raise OutputInvalid(path, f"Output file not found: {path}")
        if self.checks <= self.valid_after:
            raise OutputInvalid(path, "File too small: 7 bytes")
        return FileFacts(len(self.files[path]), "h264", 1920, 1080, 1.0, 30)

    async def digest(self, path):
        content = self.files[path]
        return Digest(len(content), sha256(content).hexdigest())


def unfenced():
    """It is never too late."""


class FakeNas:
    def __init__(self, files) -> None:
        self._files = files
        self.stored = {}
        self.away = 0
        """Copies that fail before one succeeds."""
        self.copies = 0
        self.in_put = None
        """Something to wait for in the middle of a copy."""

    async def put(self, source, temporary, *, expected):
        self.copies += 1
        if self.copies <= self.away:
            raise NasAway("put", str(temporary), "unreachable")
        if self.in_put is not None:
            await self.in_put(temporary)
        self.stored[temporary] = self._files.files[source]

    async def publish(self, temporary, final, *, fence=unfenced):
        fence()
        if final in self.stored:
            return False
        self.stored[final] = self.stored.pop(temporary)
        return True

    async def digest(self, path):
        content = self.stored.get(path)
        return None if content is None else Digest(len(content), sha256(content).hexdigest())

    async def remove(self, path, *, fence=unfenced):
        fence()
        self.stored.pop(path, None)

    async def free_bytes(self):
        return 10**12

    async def temporaries(self):
        return [path for path in self.stored if path.name.endswith(".part")]

    def location(self, path: PurePosixPath) -> str:
        return f"/nas/{path}"


def noted(port, name, loop):
    """When `port.name(…)` was called, from now on."""
    times = []
    call = getattr(port, name)

    async def noting(*arguments, **named):
        times.append(loop.time())
        return await call(*arguments, **named)

    setattr(port, name, noting)
    return times


class Stuck:
    """A call that gets no further than its beginning until it may go on. Once; later ones are as usual."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()


def stuck_in(port, name, workshop=None, *, lands=False):
    """The next `port.name(…)` gets stuck. With a workshop it is one that runs aside, in a thread.

    `lands`: it was on its way, and takes effect although its caller is gone.
    """
    stuck = Stuck()
    call = getattr(port, name)

    async def wait():
        if not stuck.reached.is_set():
            stuck.reached.set()
            await stuck.go_on.wait()

    async def late(*arguments, **named):
        await stuck.go_on.wait()
        await call(*arguments, **named)

    if workshop is None:

        async def waiting(*arguments, **named):
            try:
                await wait()
            except asyncio.CancelledError:
                if lands:
                    stuck.landing = asyncio.ensure_future(late(*arguments, **named))
                raise
            return await call(*arguments, **named)

        setattr(port, name, waiting)
        return stuck
    aside = workshop.aside

    async def waiting_aside(called, *arguments):
        if called == call:
            await wait()
        return await aside(called, *arguments)

    object.__setattr__(workshop, "aside", waiting_aside)
    return stuck


class Plain:
    """Seals nothing."""

    async def open(self, gfx_id, text):
        assert gfx_id == "g1"
        return text.encode()


class Signs:
    def __init__(self) -> None:
        self.beats = []

    def beat(self, device_id, seen_at, reported):
        self.beats.append((device_id, reported))


class FoldersInMemory(Folders):
    made: ClassVar = []
    discarded: ClassVar = []

    def make(self, uid):
        self.made.append(uid)

    def discard(self, uid):
        self.discarded.append(uid)

    def jobs(self):
        return [self.output / uid for uid in self.made if uid not in self.discarded]


async def here(call, *arguments):
    return call(*arguments)


class Shop:
    """Everything. `async with shop.open(workers=2)` lets it run."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.office = Office(self.loop)
        self.files = Files()
        self.nexrender = FakeNexrender(self.loop, self.files)
        self.nas = FakeNas(self.files)
        self.signs = Signs()
        self.folders = FoldersInMemory(Path("/out"), "/out", "", "/images")
        self.workshop = Workshop(
            nexrender=self.nexrender,
            nas=self.nas,
            folders=self.folders,
            gfx_data=Plain(),
            validate=self.files.validate,
            digest=self.files.digest,
            template="/templates/poker.aep",
            now=self.loop.now,
            elapsed=self.loop.time,
            aside=here,
            compositions=CompositionCache(self.loop.time),
        )
        self.crew = None
        self.crews = []
        self.office.on_events = self.tell_all
        self._tasks = []

    def request(self, gfx=GFX, **how):
        self.office.do(c.MapField(composition_id="comp", field_name="Slot 1 - name", layer_name="Name 1"))
        how.setdefault("composition", "Chip Count")
        return self.office.do(c.RequestRender("comp", "g1", msgspec.json.encode(gfx).decode(), **how)).result["id"]

    def worker(self, worker_id="w1") -> Worker:
        self.crew = Workers(self.office, self.workshop, self.signs, [worker_id], Pace)
        self.crews.append(self.crew)
        return self.crew.workers[0]

    def tell_all(self, events):
        """As the log does: whoever listens hears of it."""
        for crew in self.crews:
            crew.nudges.heard(msgspec.json.encode(events))

    def start(self, worker_id="w1") -> asyncio.Task:
        task = self.spawn(self.worker(worker_id).work(), worker_id)
        if len(self._tasks) == 1:
            self.spawn(self.office.clock(), "clock")
        return task

    def spawn(self, work, name=None) -> asyncio.Task:
        self._tasks.append(asyncio.create_task(work, name=name))
        return self._tasks[-1]

    async def kill(self, task):
        """As by kill -9: nobody hears what it says on its way out."""
        self.office.deaf = True
        await end(task)
        self.office.deaf = False

    async def stop_outstanding(self):
        return await Stops(Queue(self.office, "w9"), self.workshop).carry_out()

    async def sweep(self):
        await sweep(Queue(self.office, "w9"), self.workshop)

    async def until(self, condition, within_s=20_000.0):
        deadline = self.loop.time() + within_s
        while not condition():
            assert self.loop.time() < deadline, [type(event).__name__ for event in self.office.events]
            await asyncio.sleep(0.5)

    async def until_status(self, status, render_id=1, within_s=20_000.0):
        await self.until(lambda: self.office.render(render_id).status == status, within_s)

    async def close(self):
        await end(*self._tasks)
