"""Healthy means that a command would be accepted now: `status`, `doctor`, `/readyz` and `/api/system/health` agree."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import NamedTuple

import pytest

from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.process import paused, run_to_the_end
from tests.e2e.read_after_write import sign_in
from tests.small_disk import fill, small_disk

DISK = "220m"
NOTICED_S = 30.0
"""A renewal of a lease, every 3 s, is the first write that fails. Most of this is for the questions themselves."""
LEFT_BYTES = 12 * 1024 * 1024
"""Below the 32 MiB that are kept free on a disk of this size."""
BACK_S = 40.0
RESUMES_S = 60.0
"""From the moment when there is room again until a command is accepted."""
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
def disk(tmp_path):
    """The disk of a whole platform. Asked for before `start`, so that the platform ends first."""
    with small_disk(tmp_path / "data", DISK) as mounted:
        mounted.chmod(0o700)
        yield mounted


async def register_until_refused(http):
    """One phone after the other, so that a commit is under way whenever the disk becomes full. Those that were
    acknowledged, and how the next one is refused."""
    registered = []
    async with asyncio.timeout(NOTICED_S):
        while (answer := await http.register(serial := f"UNTIL{len(registered):05d}")).status == 201:
            registered.append(serial)
    return registered, (answer.status, answer.code)


@pytest.mark.slow
@pytest.mark.req("SY-08", "EV-02", "YR-12")
async def test_a_full_disk_is_unhealthy_everywhere_until_a_command_is_really_accepted_again(disk, start, tmp_path):
    platform = await start()
    async with platform.calling() as http:
        watcher = Watcher(http, tmp_path, data_dir=platform.data_dir)
        assert (await http.register("BEFORE0001")).status == 201
        assert (await watcher.health(), await watcher.ready()) == ALL_WELL[:2]

        registering = asyncio.create_task(register_until_refused(http))  # the fleet's own stream meets the full disk
        filler = await asyncio.to_thread(fill, disk)
        registered, refused = await registering
        # On a slow machine `drover up` may see the disk fill, and stop the logs, before NATS meets the full disk.
        assert refused in ((503, "UNAVAILABLE"), (503, "LOG_FULL"))

        async def the_fleet_is_named():
            await watcher.ready()
            refusal = (await http.fleet())["refusal"]
            return "writer of fleet/main" in watcher.reasons and refusal and refusal["code"] != "log_full"

        await eventually(the_fleet_is_named, NOTICED_S, every_s=0.2)  # renewals of leases fail one after the other
        await watcher.until(DEGRADED, NOTICED_S)
        for said in (watcher.problems, str(watcher.reasons), watcher.writers["found"]):
            assert "fleet/main" in said
        for advice in (watcher.problems, str(watcher.reasons), watcher.writers["remedy"]):
            assert "disk of NATS" in advice
        assert (await http.beat("BEFORE0001")).status == 204, "the edge works on"
        assert (await http.get("/rest/v1/devices?limit=1")).status == 200, "so do reads of Postgres, whose disk is full"

        acknowledged = (await http.fleet())["log_seq"]
        filler.unlink()  # nats-server 2.15 refuses until it is restarted: `drover up` does that

        async def accepts():
            return (await http.register("AFTER00001")).status in (201, 409)

        await eventually(accepts, RESUMES_S, every_s=0.5)
        await watcher.until(ALL_WELL, BACK_S)
        assert (await http.fleet())["log_seq"] > acknowledged
        assert "nats_restarted_after_a_full_disk" in platform.output
        await http.catch_up()  # Postgres writes again, too
        kept = {row["serial_number"] for row in await http.rows("devices", "select=serial_number")}
        assert kept >= {*registered, "BEFORE0001", "AFTER00001"}, "nothing acknowledged was lost"

        await is_read_only_while_the_disk_is_short_of_room(platform, http, watcher, disk)


async def is_read_only_while_the_disk_is_short_of_room(platform, http, watcher, disk):
    """Not full yet: the logs are stopped before, and what else is written on this disk goes on."""
    restarts = platform.output.count("embedded_server_started")
    stopped = platform.output.count("logs_stopped")  # perhaps once already, while the disk filled up
    filler = await asyncio.to_thread(fill, disk, LEFT_BYTES)
    await eventually(lambda: platform.output.count("logs_stopped") > stopped, NOTICED_S)
    refused = await http.register("LOGFULL001")
    assert (refused.status, refused.code) == (503, "LOG_FULL")
    assert (await http.fleet())["leader"], "its lease is renewed"
    assert await watcher.ready() == "200 degraded"
    assert await watcher.status() == Exit.DEGRADED
    for said in (watcher.problems, str(watcher.reasons)):
        assert "The log of fleet/main is full" in said
    assert (await http.beat("BEFORE0001")).status == 204
    keys = platform.credentials
    assert (await sign_in(http, keys["admin_email"], keys["admin_password"])).status == 200, "people can sign in"

    filler.unlink()

    async def accepts():
        return (await http.register("LOGFULL001")).status == 201

    await eventually(accepts, RESUMES_S, every_s=0.5)
    assert await watcher.ready() == "200 ok"
    assert platform.output.count("embedded_server_started") == restarts, "no server was restarted for it"


@pytest.mark.slow
@pytest.mark.req("SY-08")
async def test_a_leader_that_hangs_or_dies_is_seen_before_and_after_its_lease_lapses(farm, tmp_path):
    edge = await farm.serve("cleanup", "api", "projector")
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
