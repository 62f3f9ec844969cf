"""A render farm on virtual time in which everything can go wrong, at any moment. Only the workers' own code is real.

Processes are killed, put to sleep and doubled; calls take time, take effect and are not answered, or land after their
caller is gone; nexrender and the NAS go away, forget and fail; people cancel, release and run again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec

from drover.bus.messages import Rejected
from drover.domain.errors import DroverError
from drover.domain.render import commands as c
from drover.domain.render.polling import Pace
from drover.domain.render.state import ENDED, Status
from drover.nas.naming import final_name, parse_temporary
from drover.nas.store import Digesting, NasAway
from drover.render.nexrender.answers import RemoteJob
from drover.render.nexrender.errors import NexrenderDown
from drover.render.nexrender.states import Dialect, Stage
from drover.render.queue import Queue
from drover.render.stops import Stops
from drover.render.sweeper import SWEEP_EVERY_S, sweep
from drover.render.validation import FileFacts, OutputInvalid
from drover.render.workers import Workers
from drover.render.workshop import Folders, Workshop
from drover.service.tasks import end
from tests.unit.render.shop import GFX, Office, Plain, Signs, unfenced

UNANSWERED_S = 20.0
POST_S = 10.0
"""The longest that a job is on its way to nexrender: less than it is waited for."""
RENDER_S = 40.0
STUCK_S = 2400.0
"""Longer than a render may take."""


class Process:
    """What stands between a worker's code and the world. Dead, nothing passes; asleep, nothing until it wakes."""

    def __init__(self, random) -> None:
        self.random = random
        self.dead = False
        self.awake = asyncio.Event()
        self.awake.set()

    async def passes(self):
        if self.dead:
            await asyncio.Event().wait()
        await self.awake.wait()

    async def call(self, effect, *, takes_s, lands):
        """It has its effect somewhere in between. `lands`: how likely it does although its caller is gone."""
        await self.passes()
        begun = asyncio.ensure_future(self._do(effect, takes_s, lands))
        try:
            result = await asyncio.shield(begun)
        except asyncio.CancelledError:
            begun.add_done_callback(lambda one: one.cancelled() or one.exception())
            if not self.dead and lands is None:  # a thread, which is waited for
                with suppress(Exception):
                    await asyncio.wait({begun})
            elif lands is None or self.random.random() >= lands:
                begun.cancel()
            raise
        await self.passes()
        return result

    async def _do(self, effect, takes_s, lands):
        await asyncio.sleep(self.random.uniform(0, takes_s))
        if lands is None:
            await self.awake.wait()  # what a thread of this process does, it does awake
        return effect()


class World:
    def __init__(self, random) -> None:
        self.loop = asyncio.get_running_loop()
        self.random = random
        self.office = Office(self.loop)
        self.office.on_events = self._tell
        self.deaf = False
        self.nexrender_down = False
        self.nas_away = False
        self.jobs = {}
        self.duplicates = []
        self.submitted = 0
        self.output = {}
        """Files in the folder that nexrender writes into, by path."""
        self.folders = set()
        self.nas = {}
        self.outcomes = ["finished"]
        self.running = {}
        self.died = []
        self._crews = []
        self._clock = asyncio.ensure_future(self.office.clock())
        self._renders = set()

    # People.

    def request(self):
        self.office.do(c.MapField(composition_id="comp", field_name="Slot 1 - name", layer_name="Name 1"))
        gfx = msgspec.json.encode(GFX).decode()
        self.office.do(c.RequestRender("comp", "g1", gfx, composition="Chip Count"))

    def _tell(self, events):
        said = msgspec.json.encode(events)
        for process, crew in self._crews:
            if not process.dead and self.random.random() < 0.9:
                delay_s = self.random.uniform(0, 0.2)
                self.loop.call_later(delay_s, lambda process=process, crew=crew: self._hear(process, crew, said))

    def _hear(self, process, crew, said):
        if not process.dead and process.awake.is_set():
            crew.nudges.heard(said)

    # Machines.

    def start(self, name):
        process = Process(self.random)
        workshop = self._workshop(process)
        crew = Workers(OfficeOf(self, process), workshop, Signs(), [name], Pace)
        stops = Stops(Queue(OfficeOf(self, process), name), workshop)
        tasks = [
            asyncio.ensure_future(crew.workers[0].work()),
            asyncio.ensure_future(_again(stops.carry_out, 30)),
            asyncio.ensure_future(_again(lambda: sweep(Queue(OfficeOf(self, process), name), workshop), SWEEP_EVERY_S)),
        ]
        self._crews.append((process, crew))
        self.running.setdefault(name, []).append((process, tasks))

    async def kill(self, name):
        for process, tasks in self.running.pop(name, []):
            process.dead = True
            await end(*tasks)
        self._forget_dead()

    async def stop(self, name):
        for process, tasks in self.running.pop(name, []):
            process.awake.set()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=4)
            await end(*tasks)
            process.dead = True
        self._forget_dead()

    def sleep(self, name, seconds):
        for process, _ in self.running.get(name, [])[:1]:
            process.awake.clear()
            self.loop.call_later(seconds, process.awake.set)

    def _forget_dead(self):
        self._crews = [(process, crew) for process, crew in self._crews if not process.dead]

    def _workshop(self, process):
        return Workshop(
            nexrender=NexrenderOf(self, process),
            nas=NasOf(self, process),
            folders=FoldersOf(self),
            gfx_data=Plain(),
            validate=lambda path: process.call(lambda: self._validated(path), takes_s=2, lands=None),
            digest=lambda path: process.call(lambda: digest_of(self.output[path]), takes_s=1, lands=None),
            template="/templates/poker.aep",
            now=self.loop.now,
            elapsed=self.loop.time,
            aside=lambda call, *arguments: process.call(lambda: call(*arguments), takes_s=0.1, lands=None),
        )

    def _validated(self, path):
        if path not in self.output:
            raise OutputInvalid(path, f"Output file not found: {path}")
        return FileFacts(len(self.output[path]), "h264", 1920, 1080, 1.0, 30)

    # The end.

    async def settle(self):
        """Everything works again, and there is time for all that is owed."""
        self.deaf = self.nexrender_down = self.nas_away = False
        self.outcomes = ["finished"]
        for processes in self.running.values():
            for process, _ in processes:
                process.awake.set()
        self.start("last-1")
        self.start("last-2")
        for _ in range(24 * 12):
            state = self.office.scenario.state
            if all(render.status in ENDED for render in state.renders.values()) and not state.stops:
                break
            await asyncio.sleep(300)
        self.died = [
            task for processes in self.running.values() for _, tasks in processes for task in tasks if task.done()
        ]
        await asyncio.sleep(STUCK_S + 2 * SWEEP_EVERY_S)  # what goes on behind our back lands, and is swept
        for name in list(self.running):
            await self.stop(name)
        self._clock.cancel()

    def problems(self):
        """What must not be, at the end."""
        state, kept = self.office.scenario.state, set()
        yield from (f"a task has died: {task}" for task in self.died)
        yield from (f"{uid} was submitted twice" for uid in self.duplicates)
        for render in state.renders.values():
            final = final_name(render.broadcast_date, render.composition, render.render_id)
            if render.status not in ENDED:
                yield f"render {render.render_id} is {render.status}, in the hands of {render.worker_id}"
            if render.status is Status.COMPLETED:
                kept.add(final)
                found = digest_of(self.nas[final]).sha256 if final in self.nas else None
                if found != render.sha256:
                    yield f"render {render.render_id} is completed, and on the NAS is {self.nas.get(final)}"
            elif render.status is Status.CANCELLED and final in self.nas:
                yield f"render {render.render_id} is cancelled, and its file is on the NAS"
            if render.uid in self.jobs:
                yield f"render {render.render_id} is {render.status}, and nexrender still has {render.uid}"
        live = {render.uid for render in state.renders.values()}
        yield from (f"nexrender has {uid}, of a run that is over" for uid in self.jobs if uid not in live)
        yield from (f"{path} is left on the NAS" for path in self.nas if parse_temporary(path.name))
        yield from (f"the folder {uid} is left" for uid in self.folders)


async def _again(action, every_s):
    while True:
        with suppress(DroverError):
            await action()
        await asyncio.sleep(every_s)


def digest_of(content):
    digesting = Digesting()
    digesting.update(content)
    return digesting.result()


class OfficeOf:
    """The bus of one process."""

    def __init__(self, world, process) -> None:
        self._world = world
        self._process = process

    async def send(self, context, command, *, by, id=None):
        world = self._world
        if world.deaf:
            await self._process.passes()
            await asyncio.sleep(UNANSWERED_S)
            return Rejected("UNAVAILABLE", "nobody answered")
        outcome = await self._process.call(lambda: world.office.answer(command, id), takes_s=0.2, lands=0.5)
        if world.random.random() < 0.01:
            await asyncio.sleep(UNANSWERED_S)
            return Rejected("UNAVAILABLE", "nobody answered")
        return outcome


class NexrenderOf:
    def __init__(self, world, process) -> None:
        self._world = world
        self._process = process

    async def health(self):
        await self._call(lambda: None)

    async def find(self, uid):
        return await self._call(lambda: self._seen(uid))

    async def remove(self, uid):
        await self._call(lambda: self._world.jobs.pop(uid, None))

    async def submit(self, document):
        return await self._call(lambda: self._submitted(document), POST_S if self._world.random.random() < 0.2 else 0.5)

    async def _call(self, effect, takes_s=0.5):
        """While it is down a call may still have its effect, and is not answered."""
        world = self._world
        if world.nexrender_down and world.random.random() < 0.8:
            await self._process.passes()
            await asyncio.sleep(1)
            raise NexrenderDown("find", "connection refused")
        result = await self._process.call(effect, takes_s=takes_s, lands=0.7)
        if world.nexrender_down or world.random.random() < 0.01:
            raise NexrenderDown("find", "no answer")
        return result

    def _submitted(self, document):
        world, uid = self._world, document["uid"]
        if uid in world.jobs:
            world.duplicates.append(uid)
        world.submitted += 1
        (copy,) = document["actions"]["postrender"]
        outcome = world.random.choice(world.outcomes)
        takes_s = STUCK_S if outcome == "stuck" else world.random.uniform(1, RENDER_S)
        world.jobs[uid] = (world.loop.time() + takes_s, outcome)
        if outcome != "error":
            # Whoever removes the job: what has begun goes on, and lands. Each time it is another film.
            film = f"film {uid} {world.submitted}".encode()
            world.loop.call_later(takes_s, self._landed, uid, Path(copy["output"]), film)
        return self._seen(uid)

    def _landed(self, uid, path, film):
        self._world.folders.add(uid)
        self._world.output[path] = film

    def _seen(self, uid):
        if uid not in self._world.jobs:
            return None
        ends_at, outcome = self._world.jobs[uid]
        stage = Stage.RENDERING
        if self._world.loop.time() >= ends_at:
            stage = Stage.ERROR if outcome == "error" else Stage.FINISHED
        return RemoteJob(
            uid, stage, 50, str(stage), "out of memory" if stage is Stage.ERROR else None, Dialect.NEXRENDER
        )


class NasOf:
    """Its calls run in threads: one that is cancelled is waited for, and may have its effect."""

    def __init__(self, world, process) -> None:
        self._world = world
        self._process = process

    async def put(self, source, temporary, *, expected):
        world = self._world
        await self._call("put", lambda: world.nas.__setitem__(temporary, b"half a film"), 0.5)
        try:
            await self._call("put", lambda: world.nas.__setitem__(temporary, world.output[source]), 20)
        except KeyError:
            raise NasAway("put", str(temporary), "the source is gone") from None
        except (asyncio.CancelledError, NasAway):
            if not self._process.dead and world.random.random() < 0.8:
                world.nas.pop(temporary, None)
            raise

    async def publish(self, temporary, final, *, fence=unfenced):
        def publish():
            fence()
            if final in self._world.nas:
                return False
            if temporary not in self._world.nas:
                raise NasAway("publish", str(final), "there is no such file")
            self._world.nas[final] = self._world.nas.pop(temporary)
            return True

        return await self._call("publish", publish)

    async def digest(self, path):
        content = self._world.nas.get(path)
        return await self._call("digest", lambda: None if content is None else digest_of(content), 5)

    async def remove(self, path, *, fence=unfenced):
        def remove():
            fence()
            self._world.nas.pop(path, None)

        await self._call("remove", remove)

    async def temporaries(self):
        return await self._call("list", lambda: [path for path in self._world.nas if parse_temporary(path.name)])

    async def free_bytes(self):
        return await self._call("free space", lambda: 10**12)

    def location(self, path):
        return f"/nas/{path}"

    async def _call(self, operation, effect, takes_s=0.5):
        world = self._world
        if world.nas_away and world.random.random() < 0.7:
            await self._process.passes()
            await asyncio.sleep(30)
            raise NasAway(operation, "x", "unreachable")
        result = await self._process.call(effect, takes_s=takes_s, lands=None)
        if world.nas_away:
            raise NasAway(operation, "x", "no answer")
        return result


class FoldersOf(Folders):
    def __init__(self, world) -> None:
        super().__init__(Path("/out"), "/out", "", "/images")
        object.__setattr__(self, "world", world)

    def make(self, uid):
        self.world.folders.add(uid)

    def discard(self, uid):
        self.world.folders.discard(uid)
        for path in [path for path in self.world.output if path.parent.name == uid]:
            del self.world.output[path]

    def jobs(self):
        return [self.output / uid for uid in self.world.folders]
