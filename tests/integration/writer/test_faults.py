"""Faults of a writer against a real server: paused, killed, overtaken; each with a control that shows the test red."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from uuid_utils import uuid4

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.embedded.nats import nats_server
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.testing.waiting import eventually
from drover.writer.nats_writer import prepare
from tests.e2e.process import ends_with_us
from tests.integration.writer.bank import Deposit, Deposited, bank

pytestmark = pytest.mark.timeout(480)  # on a busy machine, fifty processes need more than three minutes to start

CALLERS = 16
PATIENCE_S = 90.0
LONG_S = 60
"""Of a lease that is not to lapse, also if the machine stands still for seconds."""


@pytest.fixture(scope="module")
def nats_on_disk(background_loop):
    """For kills in mid-commit: in memory, where other tests have their files, a commit is stored too soon to be met."""
    with (
        TemporaryDirectory(prefix="drover-tests-") as folder,
        background_loop.entered(nats_server(Path(folder))) as server,
    ):
        yield server


class Scene:
    """One context on the session's server, with writers in processes of their own and callers in this one."""

    def __init__(self, url, client):
        self.url = url
        self.client = client
        self.context = f"bank{uuid4().hex[:10]}"
        self.bus = CommandBus(client)
        self.acknowledged = []
        self._processes = []
        self._calling = []

    async def start_writer(self, without=None, ttl_s=2, is_next=False):
        argv = [sys.executable, "-m", "tests.integration.writer.writer_process", self.url, self.context]
        argv += [f"w{len(self._processes)}", "--ttl", str(ttl_s)] + (["--without", without] if without else [])
        argv += ["--next"] if is_next else []
        process = await asyncio.create_subprocess_exec(
            *ends_with_us(argv), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        self._processes.append(process)
        return process

    def start_callers(self):
        self._calling = [asyncio.create_task(self._call()) for _ in range(CALLERS)]

    async def _call(self):
        while True:
            token = str(uuid4())
            outcome = await self.bus.send(self.context, Deposit(token), by="test", id=token)
            if isinstance(outcome, Accepted):
                self.acknowledged.append(token)

    async def stop_callers(self):
        for task in self._calling:
            task.cancel()
        await asyncio.gather(*self._calling, return_exceptions=True)

    async def progress(self, deposits):
        """Wait until so many more deposits are acknowledged."""
        aim = len(self.acknowledged) + deposits
        await eventually(lambda: len(self.acknowledged) >= aim, PATIENCE_S)

    async def commits(self):
        log = JetStreamLog(self.client, Partition(self.context))
        last = await log.last()
        found = []
        async with log.read(0) as reader:
            while not found or found[-1].seq < last.seq:
                found += await reader.next()
        return found

    async def epochs(self):
        return [commit.epoch for commit in await self.commits()]

    async def deposits(self):
        codec = Codec(bank(self.context).events)
        return Counter(
            event.token
            for commit in await self.commits()
            for event in codec.decode(commit.payload)
            if isinstance(event, Deposited)
        )

    async def close(self):
        await self.stop_callers()
        for process in self._processes:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                    process.kill()
            await process.wait()


@asynccontextmanager
async def scene_on(server):
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connected(server.url, "scene"))
        scene = Scene(server.url, client)
        stack.push_async_callback(scene.close)
        await prepare(client, (scene.context,))
        yield scene


async def leading(process, line=b"leading\n"):
    """Wait until this process leads (it says so among its log lines)."""
    async with asyncio.timeout(PATIENCE_S):
        async for said in process.stdout:
            if said == line:
                return
    raise AssertionError(f"the writer ended before it was {line.decode().strip()}")


async def ready(process):
    """Wait until this process leads or could lead at once."""
    await leading(process, b"ready\n")


async def pause_the_leader_until_it_is_overtaken(scene, without=None):
    zombie = await scene.start_writer(without, ttl_s=4)
    await leading(zombie)
    scene.start_callers()
    await scene.progress(100)
    os.kill(zombie.pid, signal.SIGSTOP)
    successor = await scene.start_writer(ttl_s=LONG_S)  # not before: it must not win a lease that lapsed too soon
    await leading(successor)
    await scene.progress(100)
    os.kill(zombie.pid, signal.SIGCONT)
    # The zombie finds the commands that piled up at its door, decides them and tries to append.


async def test_a_paused_writer_that_wakes_up_after_its_successor_adds_not_one_event(nats):
    async with scene_on(nats) as scene:
        await pause_the_leader_until_it_is_overtaken(scene)
        await scene.progress(500)
        await scene.stop_callers()
        epochs = await scene.epochs()
        assert epochs == sorted(epochs)
        assert set(epochs) == {1, 2}
        deposits = await scene.deposits()
        assert all(deposits[token] == 1 for token in scene.acknowledged)
        assert set(deposits.values()) == {1}


@pytest.mark.control
async def test_control_without_the_fence_the_zombie_writes(nats):
    async with scene_on(nats) as scene:
        await pause_the_leader_until_it_is_overtaken(scene, without="fence")

        async def zombie_wrote():
            epochs = await scene.epochs()
            return epochs != sorted(epochs)

        await eventually(zombie_wrote)


async def kill_the_leader_again_and_again(scene, kills, without=None, enough=None):
    leader = await scene.start_writer(without, ttl_s=1)
    await leading(leader)
    scene.start_callers()
    for _ in range(kills):
        standby = await scene.start_writer(without, ttl_s=1)
        await scene.progress(random.randint(20, 200))
        leader.kill()  # in mid-commit: callers never pause
        await leading(standby)
        leader = standby
        if enough is not None and await enough():
            break
    await scene.progress(50)
    await scene.stop_callers()


async def test_a_writer_killed_fifty_times_in_mid_commit_loses_and_doubles_nothing_acknowledged(nats_on_disk):
    async with scene_on(nats_on_disk) as scene:
        await kill_the_leader_again_and_again(scene, kills=50)
        deposits = await scene.deposits()
        assert {token: deposits[token] for token in scene.acknowledged if deposits[token] != 1} == {}
        assert set(deposits.values()) == {1}
        ordinals = [
            event.n
            for commit in await scene.commits()
            for event in Codec(bank(scene.context).events).decode(commit.payload)
        ]
        assert ordinals == list(range(1, len(ordinals) + 1))


@pytest.mark.control
async def test_control_without_idempotency_a_repeat_after_a_kill_counts_twice(nats_on_disk):
    async with scene_on(nats_on_disk) as scene:

        async def doubled():
            return [token for token, times in (await scene.deposits()).items() if times > 1]

        await kill_the_leader_again_and_again(scene, kills=20, without="idempotency", enough=doubled)
        assert await doubled()


async def test_a_stop_hands_over_at_once_and_loses_nothing(nats):
    async with scene_on(nats) as scene:
        leader, standby = await scene.start_writer(), None
        await leading(leader)
        standby = await scene.start_writer()
        scene.start_callers()
        await scene.progress(50)
        leader.send_signal(signal.SIGINT)
        await leading(standby)
        await scene.progress(50)
        await scene.stop_callers()
        deposits = await scene.deposits()
        assert all(deposits[token] == 1 for token in scene.acknowledged)


@pytest.mark.parametrize("way", ["restart", "kill"])
async def test_a_nats_server_that_goes_and_comes_back_costs_a_pause_and_nothing_else(own_nats, way):
    async with scene_on(own_nats) as scene:
        await leading(await scene.start_writer())
        await scene.start_writer()
        scene.start_callers()
        await scene.progress(100)
        await getattr(own_nats, way)()
        await scene.progress(100)
        await scene.stop_callers()
        deposits = await scene.deposits()
        assert {token: deposits[token] for token in scene.acknowledged if deposits[token] != 1} == {}
        assert set(deposits.values()) == {1}
