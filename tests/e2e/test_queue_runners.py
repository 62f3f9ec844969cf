"""Runners of the operations queue (002) that are killed and started again: each task is done once on each phone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from drover.testing.waiting import eventually
from tests.e2e.client import Http
from tests.e2e.process import ends_with_us
from tests.e2e.up import Platform

PCS = ("PC-A", "PC-B", "PC-C")
PHONES = 20
TASKS = 5
RUNNER = Path(__file__).with_name("queue_runner.py")
SILENT_S = 120.0
"""Longer than the 60 s after which a silent PC loses what it has claimed."""
DONE_WITHIN_S = 400.0


class Runners:
    """The runner of each PC, and what all lives of it have noted."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self._folder = folder
        keys = {"SUPABASE_URL": platform.url, "SUPABASE_SERVICE_ROLE_KEY": platform.credentials["service_key"]}
        self._environ = os.environ | keys
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: Counter[str] = Counter()

    def start(self, pc: str) -> None:
        with self._output(pc).open("ab") as output:
            self._processes[pc] = subprocess.Popen(
                ends_with_us([sys.executable, RUNNER, pc, str(PHONES), self._diary(pc), self.film(pc)]),
                env=self._environ,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill(self, pc: str) -> None:
        self._processes[pc].send_signal(signal.SIGKILL)
        assert self._processes[pc].wait() == -signal.SIGKILL, "it had ended by itself"
        self.killed[pc] += 1

    def diary(self, pc: str) -> list[tuple[str, str]]:
        """What it did, and to which row."""
        lines = self._diary(pc).read_text().splitlines() if self._diary(pc).exists() else []
        return [(what, row_id) for what, _, row_id in (line.rpartition(" ") for line in lines)]

    def did(self, pc: str, what: str) -> int:
        return sum(one == what for one, _ in self.diary(pc))

    def film(self, pc: str) -> Path:
        """While this file exists, one phone of the PC has something long to watch."""
        return self._folder / f"{pc}.film"

    def have_ended(self) -> bool:
        for pc, process in self._processes.items():
            assert process.poll() in (None, 0), f"{pc}: {self._output(pc).read_text()}"
        return all(process.poll() == 0 for process in self._processes.values())

    def end(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()

    def _diary(self, pc: str) -> Path:
        return self._folder / f"{pc}.diary"

    def _output(self, pc: str) -> Path:
        return self._folder / f"{pc}.log"


async def fill(http: Http) -> None:
    for pc in PCS:
        rows = [
            {"serial_number": f"{pc.replace('-', '')}PHONE{number:02}", "group_id": "P1-G1", "pc_id": pc}
            for number in range(PHONES)
        ]
        assert (await http.call("POST", "/rest/v1/devices", json=rows)).status == 201
        claim = {"runner_pc_id": pc, "max_to_claim": 0}  # a sign of life: from now on each task is for all phones
        assert (await http.call("POST", "/rest/v1/rpc/claim_task_devices_for_pc", json=claim)).status == 200
    rows = [{"title": f"task {number}", "target_url": "https://youtu.be/abc"} for number in range(TASKS)]
    assert (await http.call("POST", "/rest/v1/tasks", json=rows)).status == 201


async def watch(http: Http) -> None:
    """At every moment at most one task is running, and no PC has more at work than its slots."""
    while True:
        running = await http.rows("tasks", "select=id&status=eq.running")
        assert len(running) <= 1, running
        for row in await http.rows("pc_device_summary", "select=pc_id,running_count"):
            assert row["running_count"] <= PHONES, row
        await asyncio.sleep(0.2)


async def at_work(http: Http, pc: str) -> int:
    return len(await http.rows("task_devices", f"select=id&pc_id=eq.{pc}&status=in.(running,claimed)"))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.req("DI-01", "DI-03", "OQ-01", "OQ-02", "OQ-03", "OQ-04")
async def test_five_tasks_on_three_pcs_whose_runners_are_killed_are_done_once_on_each_of_60_phones(start, tmp_path):
    platform = await start()
    runners = Runners(platform, tmp_path)
    async with platform.calling() as http:
        await fill(http)
        watching = asyncio.create_task(watch(http))
        try:
            for pc in PCS:
                runners.start(pc)

            # The first is killed again and again, and is back at once: it takes over what was at work.
            for done in (5, 25, 45):
                await eventually(lambda done=done: runners.did("PC-A", "completed") >= done, DONE_WITHIN_S)
                runners.kill("PC-A")
                runners.start("PC-A")

            # The second is killed with all its phones at work, and stays away until it has lost its claims. Meanwhile a
            # phone of the third is still at work: otherwise the task would end without the phones that are away.
            async def all_are_at_work():
                if await at_work(http, "PC-B") < PHONES:
                    return False
                runners.film("PC-C").touch()
                if await at_work(http, "PC-C") > 1:  # of which the runner may be about to report one
                    return True
                runners.film("PC-C").unlink()  # too late: the third is through with this task
                return False

            await eventually(all_are_at_work, DONE_WITHIN_S, every_s=0.1)
            runners.kill("PC-B")
            before = runners.did("PC-B", "completed")

            async def claims_are_lost():
                return await at_work(http, "PC-B") == 0

            await eventually(claims_are_lost, SILENT_S, every_s=1.0)
            runners.start("PC-B")
            await eventually(lambda: runners.did("PC-B", "completed") >= before + PHONES, DONE_WITHIN_S)
            runners.film("PC-C").unlink()
            await eventually(runners.have_ended, DONE_WITHIN_S, every_s=0.5)
            assert not watching.done(), watching.exception()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            runners.end()

        assert runners.killed == {"PC-A": 3, "PC-B": 1}
        assert runners.did("PC-A", "took over") > 0, "otherwise this has shown nothing"
        assert before < TASKS * PHONES, "the same of the second"
        tasks = await http.rows("tasks", "select=id,status")
        assert [task["status"] for task in tasks] == ["success"] * TASKS
        rows = await http.rows("task_devices", "select=id,task_id,device_id,pc_id,status&order=id")
        completed = [row for row in rows if row["status"] == "completed"]
        phones = await http.rows("devices", "select=id")
        done = Counter((row["task_id"], row["device_id"]) for row in completed)
        assert done == {(task["id"], phone["id"]): 1 for task in tasks for phone in phones}, "none lost, none doubled"
        events = await http.rows("tasks_event", "select=task_device_id,event_type&order=id")
        ends = Counter(event["task_device_id"] for event in events if event["event_type"] == "SUCCEEDED")
        assert ends == {row["id"]: 1 for row in completed}
        assert not {event["event_type"] for event in events} & {"FAILED", "TIMEOUT", "FAILED_FINAL"}
        for pc in PCS:
            noted = Counter(row_id for what, row_id in runners.diary(pc) if what == "completed")
            assert set(noted.values()) == {1}, "no row was reported twice"
            assert noted.keys() <= {row["id"] for row in completed if row["pc_id"] == pc}
