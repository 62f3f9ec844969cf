"""Healthy means that a command would be accepted now: `status`, `doctor`, `/readyz` and `/api/system/health` agree."""

from __future__ import annotations

import asyncio
import json
import signal
from itertools import count
from typing import NamedTuple

import pytest

from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.process import paused, run_to_the_end
from tests.small_disk import fill, small_disk

NATS_DISK = "64m"
NOTICED_S = 30.0
"""A renewal of a lease, every 3 s, is the first write that fails. Most of this is for the questions themselves."""
BACK_S = 40.0
LAPSED_S = 25.0
ASKING_S = 15.0


class Said(NamedTuple):
    health: str
    """Of /api/system/health: `status` and what it says of the writers."""
    ready: str
    status: Exit
    doctor: str
    """The verdict on the writers."""


ALL_WELL = Said("200 healthy connected", "200 ok", Exit.OK, "ok")
DEGRADED = Said("503 unhealthy error", "200 degraded", Exit.DEGRADED, "fail")


class Watcher:
    """Asks all four, as those do who watch a platform."""

    def __init__(self, http, folder, **where):
        self._http = http
        self._folder = folder
        self._options = ("--json", *(("--data-dir", where["data_dir"]) if "data_dir" in where else ()))
        self._environ = where.get("environ")
        self.problems = ""
        """What `status` said last."""
        self.reasons = {}
        """What `/readyz` said last."""
        self.writers = {}
        """What `doctor` said last of the writers."""

    async def _run(self, command):
        output = self._folder / f"{command}.json"
        output.unlink(missing_ok=True)
        code, said = await run_to_the_end(command, *self._options, output=output, environ=self._environ)
        return code, json.loads(said) if said.startswith("{") else {}

    async def health(self):
        answer = await self._http.get("/api/system/health", timeout_s=ASKING_S)
        return f"{answer.status} {answer.json['status']} {answer.json['services'].get('writers')}"

    async def ready(self):
        answer = await self._http.get("/readyz", timeout_s=ASKING_S)
        self.reasons = answer.json["reasons"]
        return f"{answer.status} {answer.json['status']}"

    async def status(self):
        code, found = await self._run("status")
        self.problems = "\n".join(found.get("problems", ()))
        return Exit(code)

    async def doctor(self):
        _, found = await self._run("doctor")
        lines = {line["check"]: line for line in found["checks"]}
        self.writers = lines.get("writers", {})
        return self.writers.get("verdict")

    async def ask(self):
        return Said(await self.health(), await self.ready(), await self.status(), await self.doctor())

    async def until(self, expected, within_s):
        """First what is asked over HTTP, within this time; then the commands, which take their own."""
        said = None

        async def is_said_over_http():
            nonlocal said
            said = await self.health(), await self.ready()
            return said == expected[:2]

        try:
            await eventually(is_said_over_http, within_s, every_s=0.2)
        except TimeoutError:
            raise AssertionError(f"{said}, not {expected}") from None
        assert await self.ask() == expected


@pytest.fixture
def nats_disk(tmp_path):
    """The disk of a platform's NATS alone. Asked for before `start`, so that the platform ends first."""
    (tmp_path / "data").mkdir(mode=0o700)
    with small_disk(tmp_path / "data" / "nats", NATS_DISK) as disk:
        yield disk


async def register_until_refused(http):
    """One phone after the other, so that a commit is under way whenever the disk becomes full. How it is refused."""
    numbers = count()
    async with asyncio.timeout(NOTICED_S):
        while (answer := await http.register(f"UNTIL{next(numbers):05d}")).status == 201:
            pass
    return answer.status, answer.code


@pytest.mark.slow
@pytest.mark.req("SY-08", "EV-02")
async def test_a_full_disk_is_unhealthy_everywhere_until_a_command_is_really_accepted_again(nats_disk, start, tmp_path):
    platform = await start()
    async with platform.calling() as http:
        watcher = Watcher(http, tmp_path, data_dir=platform.data_dir)
        assert (await http.register("BEFORE0001")).status == 201
        await watcher.until(ALL_WELL, BACK_S)

        registering = asyncio.create_task(register_until_refused(http))  # the fleet's own stream meets the full disk
        filler = await asyncio.to_thread(fill, nats_disk)
        assert await registering == (503, "UNAVAILABLE")

        async def the_fleet_is_named():
            await watcher.ready()
            return "writer of fleet/main" in watcher.reasons and (await http.fleet())["refusal"]

        await eventually(the_fleet_is_named, NOTICED_S, every_s=0.2)  # renewals of leases fail one after the other
        await watcher.until(DEGRADED, NOTICED_S)
        for said in (watcher.problems, str(watcher.reasons), watcher.writers["found"]):
            assert "fleet/main" in said
        for advice in (watcher.problems, str(watcher.reasons), watcher.writers["remedy"]):
            assert "disk of NATS" in advice
        assert (await http.beat("BEFORE0001")).status == 204, "the edge works on"

        filler.unlink()
        refused = await http.register("REFUSED001")
        assert (refused.status, refused.code) == (503, "UNAVAILABLE"), "the server refuses until it is restarted"
        assert await watcher.ask() == DEGRADED

        platform.server("nats-server").kill()  # and is started again
        await watcher.until(ALL_WELL, BACK_S)
        assert (await http.register("AFTER00001")).status == 201


@pytest.mark.slow
@pytest.mark.req("SY-08")
async def test_a_leader_that_hangs_or_dies_is_seen_before_and_after_its_lease_lapses(farm, tmp_path):
    edge = await farm.serve("cleanup", "api")
    scheduler = await farm.serve("scheduler")
    async with farm.calling(edge) as http:
        watcher = Watcher(http, tmp_path, environ=farm.environ | {"DROVER_HTTP_PORT": edge.url.rpartition(":")[2]})

        async def is_refused(code):
            """What is said of the fleet: a code; None when commands are accepted."""
            refusal = (await http.fleet())["refusal"]
            well = await watcher.health() == "200 healthy connected"
            return (refusal and refusal["code"], well) == (code, code is None)

        await eventually(lambda: is_refused(None), BACK_S)
        scheduler.send(signal.SIGSTOP)
        try:
            await eventually(lambda: is_refused("no_answer"), LAPSED_S)
            await eventually(lambda: is_refused("no_leader"), LAPSED_S)
            assert await watcher.status() == Exit.DEGRADED
            assert "Nobody leads fleet/main" in watcher.problems
            assert await watcher.doctor() == "fail"
            assert await watcher.ready() == "200 ok", "this process has no part in it"
        finally:
            scheduler.send(signal.SIGCONT)
        await eventually(lambda: is_refused(None), BACK_S)

        scheduler.send(signal.SIGKILL)
        await scheduler.ended()
        await eventually(lambda: is_refused("not_listening"), LAPSED_S)
        await eventually(lambda: is_refused("no_leader"), LAPSED_S)


@pytest.mark.slow
@pytest.mark.req("SY-08")
async def test_a_nats_server_that_hangs_is_unhealthy_until_it_goes_on(start, tmp_path):
    platform = await start()
    async with platform.calling() as http:
        watcher = Watcher(http, tmp_path, data_dir=platform.data_dir)
        await watcher.until(ALL_WELL, BACK_S)
        with paused(platform.server("nats-server")):

            async def is_unhealthy():
                answer = await http.get("/api/system/health", timeout_s=ASKING_S)
                return answer.status == 503 and answer.json["services"]["writers"] in ("timeout", "error")

            await eventually(is_unhealthy, NOTICED_S)
            status = await http.get("/api/status", timeout_s=ASKING_S)
            assert status.json["nats"].startswith("unreachable")
            assert await watcher.status() == Exit.UNREACHABLE

            async def says_why():
                return await watcher.ready() != "200 ok" and watcher.reasons

            await eventually(says_why, NOTICED_S)
        await watcher.until(ALL_WELL, BACK_S)
