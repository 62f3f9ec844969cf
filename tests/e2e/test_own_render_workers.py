"""Users keep their own render worker beside ours: killed and restarted, each film is completed once; a late one is
refused."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict

import psutil
import pytest

from drover.service.api_keys import Role, issue_api_key
from drover.simulator.nexrender.script import Script
from drover.simulator.nexrender.server import simulated_nexrender
from drover.testing.waiting import eventually
from tests.contract.simplified_nexrender import SimplifiedApi
from tests.e2e.apart import SECRET
from tests.e2e.process import paused
from tests.e2e.rendering import Crew, OwnCrew, all_completed, render_all

QUICK = Script(render_s=(0.3, 0.8), encode_s=(0.1, 0.3), pickup_s=0.01)
RENDERS = 60
OURS, THEIRS = ("ae-1", "ae-2"), ("own-1", "own-2", "own-3")
KILL_EVERY_S = 2.5
DONE_WITHIN_S = 400.0


def own_crew(core, nexrender, folder, **more) -> OwnCrew:
    key = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())
    return OwnCrew(core.url, key, nexrender.url, folder, **more)


async def events_of(http, kind: str) -> list[dict]:
    return [event["data"] for event in (await http.get(f"/rest/v1/events?type=eq.{kind}&limit=1000")).json]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.req("DI-13", "RN-03", "RN-04")
async def test_their_workers_and_ours_complete_every_render_once_while_they_are_killed(farm, tmp_path):
    core = await farm.serve("render", "gateway", "projector", "api", name="core", DROVER_RENDER_WORKERS="0")
    machine = tmp_path / "machine"
    machine.mkdir()
    async with (
        farm.calling(core) as http,
        simulated_nexrender(machine, api_of=SimplifiedApi, script=QUICK, machines=5) as nexrender,
    ):
        ours = Crew(farm, nexrender.url, machine)
        theirs = own_crew(core, nexrender, machine)
        try:
            for number, worker_id in enumerate(THEIRS):
                theirs.start(worker_id, fenced=number == 0)
            await asyncio.gather(*map(ours.start, OURS))
            await render_all(http, RENDERS)

            async def kill():
                theirs.kill_one()
                if theirs.killed % 3 == 0:
                    await ours.kill_one()

            await all_completed(http, RENDERS, kill, every_s=KILL_EVERY_S, within_s=DONE_WITHIN_S)
        finally:
            theirs.end()

        rows = (await http.get("/rest/v1/render_queue?order=id&limit=1000")).json
        assert [(row["id"], row["status"]) for row in rows] == [(n, "completed") for n in range(1, RENDERS + 1)]
        ends = Counter(event["render_id"] for event in await events_of(http, "RenderCompleted"))
        assert ends == Counter(range(1, RENDERS + 1)), "once each in the log"
        by = Counter(row["worker_id"] for row in rows)
        assert sum(by[name] for name in OURS) >= 3, by
        assert sum(by[name] for name in THEIRS) >= 3, by
        assert theirs.killed >= 3 and ours.killed >= 1, "otherwise this has shown nothing"
        assert any(row["recovery_count"] for row in rows), "no killed worker had a render"
        await check_attempts(http)
        sizes = {path.name: path.stat().st_size for path in (machine / "nas" / "2026-03-02").glob("*.mp4")}
        assert sizes.keys() == {f"Chip Count_{row['id']}.mp4" for row in rows}
        assert all(size >= 100 * 1024 for size in sizes.values())


async def check_attempts(http) -> None:
    """Each run of a render begins after the one before was over, and the last one alone succeeded."""
    rows, page = [], None
    while page is None or len(page) == 1000:
        path = f"/rest/v1/renders_event?select=*&order=id&limit=1000&offset={len(rows)}"
        page = (await http.get(path)).json
        rows += page
    by_render = defaultdict(list)
    for row in rows:
        by_render[row["render_queue_id"]].append(row)
    for render_id, history in by_render.items():
        runs = [row["run"] for row in history if row["event_type"] == "SENT"]
        assert runs == list(range(1, len(runs) + 1)), render_id
        assert [row["run"] for row in history if row["event_type"] == "SUCCEEDED"] == runs[-1:], render_id
        is_held = False
        for row in history:
            if row["event_type"] == "SENT":
                assert not is_held or row["message"] == "resumed", f"two workers had render {render_id}"
            is_held = row["event_type"] in ("SENT", "ACKED") or (is_held and row["event_type"] == "STALE_REPORT")


@pytest.mark.slow
@pytest.mark.req("DI-13", "RN-04", "RN-22")
async def test_a_worker_of_theirs_that_wakes_up_late_changes_nothing(farm, tmp_path):
    core = await farm.serve("render", "gateway", "projector", "api", name="core", DROVER_RENDER_WORKERS="0")
    machine = tmp_path / "machine"
    machine.mkdir()
    slow = Script(render_s=(5.0, 5.0), encode_s=(0.1, 0.1), pickup_s=0.01)
    async with (
        farm.calling(core) as http,
        simulated_nexrender(machine, api_of=SimplifiedApi, script=slow, machines=2) as nexrender,
    ):
        ours = Crew(farm, nexrender.url, machine)
        theirs = own_crew(core, nexrender, machine, lease_s=2.0)
        try:
            theirs.start("late")
            await render_all(http, 1)

            async def row():
                return (await http.get("/rest/v1/render_queue?select=*")).json[0]

            async def it_renders():
                return (await row())["status"] == "rendering"

            await eventually(it_renders)
            with paused(psutil.Process(theirs.processes["late"].pid)):
                await ours.start("winner")

                async def is_ours():
                    return (await row())["worker_id"] == "winner"

                await eventually(is_ours)
            await eventually(lambda: "lost 1" in theirs.said("late"))

            async def it_is_done():
                return (await row())["status"] == "completed"

            await eventually(it_is_done, within_s=60.0)
        finally:
            theirs.end()
        done = await row()
        assert (done["worker_id"], done["run"], done["recovery_count"]) == ("winner", 2, 1)
        assert done["output_sha256"] is not None
        assert [event["worker_id"] for event in await events_of(http, "RenderCompleted")] == ["winner"]
