"""Render workers as processes, and work for them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from drover.testing.waiting import eventually
from tests.e2e.client import Http
from tests.e2e.process import ends_with_us

BATCH = 50


class Crew:
    """Worker processes, each with a name that it keeps when it comes back."""

    def __init__(self, farm, nexrender_url, folder, **more):
        self._farm = farm
        self._settings = {
            "DROVER_RENDER_NEXRENDER_URL": nexrender_url,
            "DROVER_RENDER_NAS": str(folder / "nas"),
            "DROVER_RENDER_NAS_GUARD": "folder",
            "DROVER_RENDER_OUTPUT_DIR": str(folder / "out"),
            "DROVER_RENDER_TEMPLATE": str(folder / "poker.aep"),
            "DROVER_RENDER_IMAGE_DIR": str(folder / "images"),
            "DROVER_RENDER_FOLLOW_S": "0.3",
            **more,
        }
        for name in ("nas", "out"):
            (folder / name).mkdir()
        (folder / "poker.aep").write_bytes(b"not really After Effects")
        self.processes = {}
        self.killed = 0

    async def start(self, worker_id):
        self.processes[worker_id] = await self._farm.serve(
            "render-worker", name=worker_id, DROVER_RENDER_WORKER_ID=worker_id, **self._settings
        )

    async def kill_one(self):
        worker_id = random.choice(sorted(self.processes))
        victim = self.processes.pop(worker_id)
        victim.send(signal.SIGKILL)
        await victim.ended()
        self.killed += 1
        await self.start(worker_id)


class OwnCrew:
    """Workers of the users' own (`own_worker.py`), each a process with a name that it keeps when it comes back."""

    def __init__(self, url, key, nexrender_url, folder, *, lease_s=4.0):
        self._folder = folder
        self._environ = {
            "SUPABASE_URL": url,
            "SUPABASE_KEY": key,
            "NEXRENDER_API_URL": nexrender_url,
            "OUTPUT_DIR": str(folder / "theirs"),
            "NAS_MOUNT_PATH": str(folder / "nas"),
            "AEP_TEMPLATE": str(folder / "poker.aep"),
            "LEASE_S": str(lease_s),
        }
        (folder / "theirs").mkdir()
        self.processes = {}
        self.killed = 0

    def start(self, worker_id, *, fenced=False):
        program = Path(__file__).with_name("own_worker.py")
        environ = self._environ | {"WORKER_ID": worker_id, "FENCED": "1" if fenced else "0"}
        with (self._folder / f"{worker_id}.log").open("ab") as output:
            self.processes[worker_id] = subprocess.Popen(
                ends_with_us([sys.executable, program]),
                env=os.environ | environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def said(self, worker_id):
        return (self._folder / f"{worker_id}.log").read_text().splitlines()

    def kill_one(self):
        worker_id = random.choice(sorted(self.processes))
        self._kill(worker_id)
        self.killed += 1
        self.start(worker_id, fenced=self.killed % 2 == 0)

    def _kill(self, worker_id):
        process = self.processes.pop(worker_id)
        process.kill()
        process.wait()

    def end(self):
        for worker_id in list(self.processes):
            self._kill(worker_id)


async def render_all(http: Http, count: int) -> None:
    mapping = {"composition_id": "comp", "field_name": "Slot 1 - name", "layer_name": "Name 1"}
    assert (await http.call("POST", "/rest/v1/aep_field_mapping", json=mapping)).status == 201
    for start in range(0, count, BATCH):
        rows = [
            {
                "composition_id": "comp",
                "composition_name": "Chip Count",
                "broadcast_date": "2026-03-02",
                "gfx_data": {"slots": [{"slot_number": 1, "fields": {"name": f"PLAYER {number}"}}]},
            }
            for number in range(start, min(count, start + BATCH))
        ]
        answer = await http.call("POST", "/rest/v1/render_queue", json=rows)
        assert answer.status == 201, answer.raw


async def completed(http: Http) -> int:
    (row,) = (await http.get("/rest/v1/render_queue?select=count&status=eq.completed")).json
    return row["count"]


async def all_completed(
    http: Http, renders: int, kill: Callable[[], Awaitable[None]], *, every_s: float, within_s: float
) -> None:
    """Wait until all renders are completed, and call `kill` every few seconds meanwhile."""

    stop = asyncio.Event()

    async def killing():
        while not stop.is_set():
            with suppress(TimeoutError):  # the fault itself comes at an interval
                await asyncio.wait_for(stop.wait(), every_s)
            if not stop.is_set():
                await kill()

    killer = asyncio.create_task(killing())
    try:

        async def all_done():
            assert not killer.done(), killer.exception()
            return await completed(http) == renders

        await eventually(all_done, within_s=within_s, every_s=1.0)
    finally:
        stop.set()
        await killer  # who was killed last has started again, so that it can be stopped in good order
