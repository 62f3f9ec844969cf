"""The real `@nexrender/server`, run with Node: installed once, from pinned packages; a process for each that asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from signal import Signals

from drover.embedded.process import GuardedProcess, Log, StopStep
from drover.render.nexrender.client import NexrenderClient, NexrenderDown
from drover.testing.waiting import eventually
from tests.e2e.process import free_port
from tests.node_packages import node_with

PACKAGES = Path(__file__).parent
START_S = 60
RENDER_S = 60
STEPS = (StopStep(Signals.SIGTERM, 5), StopStep(Signals.SIGKILL, 5))


def installed_node() -> str:
    """Node with the pinned packages beside this file; skips the test where there is none."""
    return node_with(PACKAGES)


@asynccontextmanager
async def real_nexrender(folder: Path, secret: str) -> AsyncIterator[str]:
    """Its address. Its database lives in the folder; it cannot outlive this process."""
    program = PACKAGES / "node_modules" / "@nexrender" / "server" / "src" / "bin.js"
    port = free_port()
    # It takes its settings from the environment, and makes a folder in $HOME even where the database is elsewhere.
    settings = [f"HOME={folder}", f"NEXRENDER_DATABASE={folder / 'database.json'}"]
    argv = ["/usr/bin/env", *settings, installed_node(), program, "--port", str(port), "--secret", secret]
    process = await GuardedProcess.spawn(argv, steps=STEPS, cwd=folder, log=Log(folder / "nexrender.log"))
    try:
        url = f"http://127.0.0.1:{port}"
        async with NexrenderClient(url) as client:
            await eventually(lambda: _answers(client, process), within_s=START_S)
        yield url
    finally:
        await process.stop()


async def render_one(url: str, secret: str, *, folder: Path, aerender: Path) -> None:
    """A worker of nexrender takes one job and renders it."""
    argv = [installed_node(), "worker.cjs", url, secret, str(folder), str(aerender)]
    worker = await asyncio.create_subprocess_exec(*argv, cwd=PACKAGES, stderr=asyncio.subprocess.PIPE)
    try:
        _, complaint = await asyncio.wait_for(worker.communicate(), RENDER_S)
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    assert worker.returncode == 0, complaint.decode()


async def _answers(client: NexrenderClient, process: GuardedProcess) -> bool:
    assert process.exit_code is None, f"the real nexrender server ended:\n{process.log.tail()}"
    try:
        await client.health()
    except NexrenderDown:
        return False
    return True
