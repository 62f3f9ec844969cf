"""Render workers that are killed or wake up late: each render is completed once, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections import Counter
from hashlib import sha256

import psutil
import pytest

from drover.simulator.nexrender.script import Script
from drover.simulator.nexrender.server import simulated_nexrender
from drover.testing.waiting import eventually
from tests.e2e.process import paused
from tests.e2e.rendering import Crew, all_completed, render_all

QUICK = Script(render_s=(0.2, 0.4), encode_s=(0.05, 0.1), pickup_s=0.01)
SLOW = Script(render_s=(5.0, 5.0), encode_s=(0.1, 0.1), pickup_s=0.01)
"""Still at work when the test has seen that it has begun, also on a busy machine."""
RENDERS = 200
WORKERS = 8
KILL_EVERY_S = 3.0
DONE_WITHIN_S = 600.0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.req("RN-03", "RN-04", "RN-11")
async def test_200_renders_on_8_workers_with_one_killed_every_3_seconds_are_each_completed_once(farm, tmp_path):
    core = await farm.serve("render", "gateway", "projector", "api", name="core", DROVER_RENDER_WORKERS="0")
    async with (
        farm.calling(core) as http,
        simulated_nexrender(tmp_path / "out", script=QUICK, machines=WORKERS) as nexrender,
    ):
        crew = Crew(farm, nexrender.url, tmp_path)
        await asyncio.gather(*(crew.start(f"ae-{number}") for number in range(1, WORKERS + 1)))
        await render_all(http, RENDERS)
        await all_completed(http, RENDERS, crew.kill_one, every_s=KILL_EVERY_S, within_s=DONE_WITHIN_S)
        assert crew.killed >= 3, "otherwise this has shown nothing"

        rows = (await http.get("/rest/v1/render_queue?order=id&limit=1000")).json
        assert [row["id"] for row in rows] == list(range(1, RENDERS + 1))
        assert {row["status"] for row in rows} == {"completed"}
        ends = Counter(
            event["data"]["render_id"]
            for event in (await http.get("/rest/v1/events?type=eq.RenderCompleted&limit=1000")).json
        )
        assert ends == Counter(range(1, RENDERS + 1)), "once each in the log"

        nas = tmp_path / "nas" / "2026-03-02"
        for row in rows:
            content = (nas / f"Chip Count_{row['id']}.mp4").read_bytes()
            assert sha256(content).hexdigest() == row["output_sha256"]

        # Every worker sweeps when it starts: one more start, and nothing of the dead is left.
        await crew.kill_one()

        def left():
            parts = [path for path in nas.iterdir() if path.suffix == ".part"]
            return parts + [path for path in (tmp_path / "out").iterdir() if path.is_dir()]

        await eventually(lambda: not left())
        assert len(list(nas.iterdir())) == RENDERS


@pytest.mark.slow
@pytest.mark.req("RN-04")
async def test_a_worker_that_wakes_up_late_is_refused_on_record_and_the_winners_file_stays(farm, tmp_path):
    lease = {"DROVER_RENDER_LEASE_S": "3"}
    core = await farm.serve("render", "gateway", "projector", "api", name="core", DROVER_RENDER_WORKERS="0", **lease)
    async with (
        farm.calling(core) as http,
        simulated_nexrender(tmp_path / "out", script=SLOW, machines=2) as nexrender,
    ):
        crew = Crew(farm, nexrender.url, tmp_path, DROVER_RENDER_FOLLOW_S="1", **lease)
        await crew.start("late")
        await render_all(http, 1)

        async def status():
            (row,) = (await http.get("/rest/v1/render_queue?select=status,worker_id")).json
            return row

        async def it_renders():
            return (await status())["status"] in ("rendering", "encoding", "uploading")

        await eventually(it_renders)
        with paused(psutil.Process(crew.processes["late"].pid)):
            await crew.start("winner")

            async def it_is_done():
                return (await status())["status"] == "completed"

            await eventually(it_is_done, within_s=60.0)
            (done,) = (await http.get("/rest/v1/render_queue")).json
            file = tmp_path / "nas" / "2026-03-02" / "Chip Count_1.mp4"
            content = file.read_bytes()
        assert (done["worker_id"], done["recovery_count"]) == ("winner", 1)

        async def refused():
            events = (await http.get("/rest/v1/events?type=eq.StaleRunRefused")).json
            return [event["data"] for event in events]

        recorded = await eventually(refused)
        assert {(event["worker_id"], event["run"], event["current_run"]) for event in recorded} == {("late", 1, 2)}
        assert file.read_bytes() == content
        assert sha256(content).hexdigest() == done["output_sha256"]
        assert [path.name for path in file.parent.iterdir()] == [file.name]
