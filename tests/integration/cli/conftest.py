"""The command as a person or a script runs it: a process of its own against real servers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from click import ClickException
from click.testing import CliRunner
from uuid_utils import uuid4

from drover.bus.audit import Access, recording
from drover.bus.connection import connected
from drover.cli.exits import Exit, exit_code_of
from drover.cli.group import drover as group
from drover.domain.errors import DroverError
from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import DeviceCameOnline, DeviceRegistered, PcRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.streams import ensure_stream
from tests.bucket import bucket, bucket_url  # noqa: F401 - fixtures
from tests.e2e.process import Ended, ends_with_us, run_command

CODEC = Codec(FLEET.events)
COMMAND_S = 120.0
"""Long enough for a busy machine, on which a Python needs ten seconds to start."""


def settings(nats, postgres_dsn="postgresql://nobody@127.0.0.1:1/none", **more):
    return {
        "DROVER_NATS_URL": nats.url,
        "DROVER_NATS_SYSTEM_URL": nats.system_url,
        "DROVER_POSTGRES_URL": postgres_dsn,
        "DROVER_HTTP_PORT": "0",
        **more,
    }


@pytest.fixture
async def start(tmp_path):
    """Start `drover` in an empty folder with nothing of ours in its environment but what is given."""
    started = []

    async def begin(*arguments: str, **environ: str) -> asyncio.subprocess.Process:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DROVER_")}
        process = await asyncio.create_subprocess_exec(
            *ends_with_us([sys.executable, "-m", "drover.cli", *arguments]),
            env=clean | environ,
            cwd=tmp_path,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def drover(tmp_path) -> Callable[..., object]:
    """Run `drover` to its end, as `start` does. It is forked (`tests.e2e.fork_server`), so that it has nothing to
    import."""

    async def run(*arguments: str, **environ: str) -> Ended:
        return await run_command(*arguments, environ=environ, folder=tmp_path, within_s=COMMAND_S)

    return run


@pytest.fixture
def here() -> Callable[..., object]:
    """Run `drover` to its end within this process, in a thread: for what needs no signals, and is asked often."""

    def invoke(arguments: tuple[str, ...], environ: dict[str, str]) -> Ended:
        clean = {name: None for name in os.environ if name.startswith("DROVER_")}
        found = CliRunner().invoke(group, arguments, env=clean | environ, standalone_mode=False)
        error = found.exception
        if isinstance(error, DroverError):
            return Ended(exit_code_of(error), found.stdout, found.stderr + str(error))
        if isinstance(error, ClickException):
            return Ended(Exit.USAGE, found.stdout, found.stderr + error.format_message())
        if error is not None:
            raise error
        return Ended(found.return_value or 0, found.stdout, found.stderr)

    async def run(*arguments: str, **environ: str) -> Ended:
        return await asyncio.wait_for(asyncio.to_thread(invoke, arguments, environ), COMMAND_S)

    return run


class Written:
    """A log that a test writes into, event by event, with ordinals of its own counting."""

    def __init__(self, client, context: str, partition: str = "main") -> None:
        self.context = context
        self.log = JetStreamLog(client, Partition(context, partition))
        self.n = 0
        self.seq = 0
        self.lines: list[str] = []

    async def commit(self, *events: Event, cause: str = "c") -> int:
        for event in events:
            self.n += 1
            event.n, event.at, event.by, event.cause = self.n, datetime.now(UTC), "service_role", cause
        payload = CODEC.encode(events)
        self.lines += payload.decode().splitlines()
        self.seq = await self.log.append(Commit(str(uuid4()), 1, payload), self.seq)
        return self.seq


def pc(name="pc-1"):
    return PcRegistered(pc_id=name, capacity=20)


def device(name="d1", serial="SERIAL001"):
    return DeviceRegistered(device_id=name, serial_number=serial, group_id="P1-G1", pc_id="pc-1", capabilities=[])


def online(name="d1"):
    return DeviceCameOnline(device_id=name)


@pytest.fixture
async def client(nats):
    async with connected(nats.url, "test") as connection:
        yield connection


@pytest.fixture
async def audited(client):
    """Somebody who records accesses, as the service `api` does. The value is what was recorded."""
    recorded: list[Access] = []

    async def record(access: Access) -> None:
        recorded.append(access)

    async with recording(client, record):
        yield recorded


@pytest.fixture
async def written(client) -> Written:
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context)
    return Written(client, context)
