"""An operator with the command line: `drover jobs`, `devices`, `pcs`, `renders`, `tests`, `alarms`, `alerts` and `why`
on a real platform, with the permissions of the key."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from click import ClickException
from click.testing import CliRunner

from drover.cli.exits import Exit, exit_code_of
from drover.cli.group import drover as group
from drover.domain.errors import DroverError
from drover.testing.waiting import eventually
from tests.e2e.client import device
from tests.e2e.farmhand import Farmhand
from tests.e2e.process import DroverProcess
from tests.e2e.test_people import PASSWORD, admin_of, browsing

VIDEO = "https://youtu.be/operated"
COMMAND_S = 60.0
BEAT_EVERY_S = 1.0


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        assert self.code == Exit.OK, self
        return json.loads(self.out)


class Operator:
    """Somebody at a shell. The commands run in this process, in a thread, because they have a loop of their own."""

    def __init__(self, *options):
        self._options = options

    async def __call__(self, *arguments):
        return await asyncio.wait_for(asyncio.to_thread(self._invoke, [*arguments, *self._options]), COMMAND_S)

    async def json(self, *arguments):
        return (await self(*arguments, "--json")).json

    async def done(self, *arguments):
        """What a command that must succeed has printed."""
        ended = await self(*arguments)
        assert ended.code == Exit.OK, ended
        return ended.out.strip()

    def _invoke(self, arguments):
        clean = {name: None for name in os.environ if name.startswith("DROVER_")}
        found = CliRunner().invoke(group, list(map(str, arguments)), env=clean, standalone_mode=False)
        error = found.exception
        if isinstance(error, DroverError):
            return Ended(exit_code_of(error), found.stdout, found.stderr + str(error))
        if isinstance(error, ClickException):
            return Ended(Exit.USAGE, found.stdout, found.stderr + error.format_message())
        if error is not None:
            raise error
        return Ended(found.return_value or 0, found.stdout, found.stderr)


@pytest.fixture
def operator(platform, http):
    return Operator("--data-dir", platform.data_dir)


async def test_a_job_from_its_creation_to_its_second_run(operator, http, platform):
    registered = await operator.json(
        "devices", "register", "OPERATE01", "OPERATE02", "--pc", "PC-OPS", "--group", "P9-G1"
    )
    first, _ = (Farmhand(http, row["serial_number"], row["id"]) for row in registered)
    assert "Moved OPERATE02 to group P9-G2." in await operator.done("devices", "move", "operate02", "--group", "P9-G2")
    phones = await operator.json("devices", "list", "--pc", "PC-OPS")
    assert [(row["serial_number"], row["group_id"]) for row in phones] == [
        ("OPERATE01", "P9-G1"),
        ("OPERATE02", "P9-G2"),
    ]
    assert (await operator("devices", "show", "OPERATE0")).code == Exit.USAGE, "both begin with it"

    job = await operator.done(
        *("jobs", "create", VIDEO, "--title", "Operated", "--like", "5"),
        *("--phone", "OPERATE01", "--phone", phones[1]["id"], "--paused"),
        *("--priority", "-3", "--not-before", "2h"),
    )
    try:
        async with beating(http, "OPERATE01", "OPERATE02"):
            await _follow_a_job(operator, first, job)
        await _handle_an_alert(operator, platform, first)
    finally:
        await operator("jobs", "cancel", job, "--yes")
    await operator.done("devices", "reset", "OPERATE01")
    again = await operator.done("jobs", "run-again", job, "--failed")
    try:
        made = (await operator.json("jobs", "show", again))["job"]
        assert (made["title"], made["prob_like"], made["target"]["device_ids"]) == ("Operated", 5, [first.device_id])
        assert made["priority"] == 3
    finally:
        assert await operator.done("jobs", "deactivate", again, "--yes") == f"Deactivated “Operated” ({again})."
    refused = await operator("jobs", "pause", again)
    assert refused.code == Exit.FAILED


@asynccontextmanager
async def beating(http, *serials):
    """These phones are there until the end of the block: a job does not wait for a phone that is away."""

    async def beat():
        while True:
            for serial in serials:
                assert (await http.beat(serial)).status == 204
            await asyncio.sleep(BEAT_EVERY_S)

    living = asyncio.create_task(beat())
    try:
        for serial in serials:
            await online(http, serial)
        yield
    finally:
        living.cancel()


async def online(http, serial):
    async def is_online():
        return await http.status_of(serial) == "online"

    await eventually(is_online)


async def _follow_a_job(operator, phone, job):
    assert "was created paused. Resume it" in await operator.done("why", job)
    assert (await operator("jobs", "next", job)).code == Exit.FAILED, "it is paused"
    await operator.done("jobs", "schedule", job, "--at", "1h")
    await operator.done("jobs", "prioritize", job, "--priority", "3")
    (listed,) = [row for row in await operator.json("jobs", "list", "--status", "open") if row["id"] == job]
    assert (listed["priority"], listed["put_first"], listed["is_scheduled"]) == (3, 0, True)
    assert await operator.done("jobs", "schedule", job, "--now") == f"“Operated” ({job}) may start now."
    shown = await operator.done("jobs", "show", job[:20])
    assert all(words in shown for words in ("Operated", VIDEO, "2 named phones"))
    assert await operator.done("jobs", "resume", job) == f"Resumed “Operated” ({job})."
    assert await operator.done("jobs", "next", job) == f"Put “Operated” ({job}) first."
    work = await phone.work()
    assert "“Operated”" in await operator.done("why", "OPERATE01"), "by its title, not by its id"
    assert "OPERATE01" in await operator.done("why", work["id"], "--kind", "assignment")
    assert (await phone.report(work, "running", progress_pct=10)).status == 204
    slots = (await operator.json("pcs", "show", "PC-OPS"))["in_use"]
    assert "OPERATE01" in [slot["serial_number"] for slot in slots]
    assert (await phone.report(work, "failed", error_code="E3004")).status == 204
    assert "BATTERY_LOW, until it is charged" in await operator.done(
        "devices", "list", "--status", "error", "--pc", "PC-OPS"
    )
    failed = await operator.json("jobs", "assignments", job, "--status", "failed")
    assert [row["serial_number"] for row in failed] == ["OPERATE01"]
    assert await operator.done("devices", "reset", "OPERATE01") == "Reset OPERATE01."
    await online(phone.http, "OPERATE01")
    assert await operator.done("jobs", "retry", job) == "Retried “Operated” on OPERATE01."
    assert await operator.done("jobs", "pause", job) == f"Paused “Operated” ({job})."
    assert job in [row["id"] for row in await operator.json("jobs", "list", "--status", "paused")]
    await operator.done("jobs", "resume", job)
    await operator.done("jobs", "assign", job, "OPERATE02")
    assert await operator.done("jobs", "unassign", job, "OPERATE02", "--yes") == "Cancelled “Operated” on OPERATE02."
    work = await phone.work()
    assert (await phone.report(work, "running", progress_pct=10)).status == 204
    assert (await phone.report(work, "failed", error_code="E3002")).status == 204


async def _handle_an_alert(operator, platform, phone):
    """A phone ran out of memory, which needs a person. The service key may read the alert, and people handle it."""
    found = await operator.json("alerts", "list", "--kind", "needs_reset")
    (alert,) = [row for row in found if row["subject"] == phone.device_id]
    refused = await operator("alerts", "acknowledge", alert["id"])
    assert (refused.code, refused.out) == (Exit.FAILED, "")
    assert "Only operators and admins handle alerts" in refused.err
    async with browsing(platform) as person:
        await person.sign_in(*admin_of(platform))
        admin = Operator("--url", platform.url, "--key", person.token)
        assert "Acknowledged needs_reset" in await admin.done("alerts", "acknowledge", alert["id"][:13], "--note", "Me")
        (snoozed,) = await admin.json("alerts", "snooze", alert["id"], "--until", "4h")
        assert (snoozed["acknowledged_note"], snoozed["snoozed_until"] is None) == ("Me", False)
        listed = await admin.done("alerts", "list", "--kind", "needs_reset")
        assert all(words in listed for words in ("OPERATE01", alert["id"][:13], ": Me", "Snoozed until"))
        (awake,) = await admin.json("alerts", "end-snooze", alert["id"])
        assert awake["snoozed_until"] is None


async def test_capacity_renders_tests_and_alarms(operator, http):
    await operator.done("devices", "register", "OPERATE11", "--pc", "PC-OPS-2", "--group", "P9-G1")
    assert "Up to 3 phones of PC-OPS-2" in await operator.done("pcs", "capacity", "PC-OPS-2", "3")
    assert (await operator("pcs", "capacity", "PC-OPS-2", "21")).code == Exit.USAGE

    await operator.done("compositions", "set", "operated", "--name", "Operated")
    await operator.done("compositions", "map", "operated", "Single - name", "Name")
    await operator.done("compositions", "map", "operated", "Single - name", "Name 1", "--kind", "image")
    fields = (await operator.json("compositions", "show", "oper"))["fields"]
    assert [(row["field_name"], row["layer_name"], row["kind"]) for row in fields] == [
        ("Single - name", "Name 1", "image")
    ]
    render = await operator.done("renders", "request", "operated", "--field", "name=Kim", "--day", "2026-03-02")
    assert "Operated" in await operator.done("renders", "list", "--status", "open")
    assert await operator.done("renders", "cancel", render, "--yes") == f"Cancelled: “Operated” ({render})."
    assert (await operator.json("renders", "show", render))["render"]["status"] == "cancelled"
    assert await operator.done("renders", "retry", render) == f"Queued again: “Operated” ({render})."
    await operator.done("renders", "cancel", render, "--yes")
    assert (await operator("renders", "show", "987654321")).code == Exit.NOT_FOUND
    assert "It was cancelled at " in await operator.done("why", render)
    assert "no longer drawn" in await operator.done("compositions", "unmap", "operated", "Single - name")
    assert await operator.done("compositions", "delete", "operated", "--yes") == (
        "Deleted composition “Operated” (operated)."
    )

    body = {"user_id": "operated", "remaining_tests": 1}
    assert (await http.call("POST", "/api/saju/users", json=body)).status == 201
    assert "granted 2 tests" in await operator.done("tests", "grant", "operated", "2")
    tests = [(await http.call("POST", "/api/saju/tests", json={"user_id": "operated"})).json["id"] for _ in range(2)]
    assert "Completed" in await operator.done("tests", "complete", tests[0], "--result", "r/1")
    assert "Failed" in await operator.done("tests", "fail", tests[1], "--code", "LOST", "--yes")
    listed = {row["id"]: row["status"] for row in await operator.json("tests", "list", "--user", "operated")}
    assert listed == {tests[0]: "completed", tests[1]: "failed"}
    assert "LOST" in await operator.done("tests", "show", tests[1])
    assert "that it failed at " in await operator.done("why", tests[1])
    assert (await operator.json("tests", "user", "operated"))["user"]["charged"] == 2
    await operator.done("tests", "freeze", "operated")
    assert "frozen" in await operator.done("tests", "user", "operated")
    await operator.done("tests", "unfreeze", "operated")
    assert (await operator.json("tests", "cleanup", "--yes"))["cleaned_count"] == 0
    assert (await operator.json("tests", "runs", "--limit", "1"))[0]["trigger"] == "manual"

    body = {"page_id": "operated-p1", "user_id": "operated", "title": "Notes"}
    assert (await http.call("POST", "/api/reminder/register-by-page", json=body)).status == 201
    due = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)
    said = await operator.done("alarms", "reschedule", "operated-p", due.isoformat())
    assert said.startswith("The alarm of page operated-p1 (user operated) is due ")
    assert "Notes" in await operator.done("alarms", "show", "operated/operated-p1")
    explained = await operator.json("why", "operated-p1")
    assert (explained["about"], explained["id"]) == ("reminder", "operated/operated-p1")

    async def waits_for_its_time():
        return "It is not due before " in await operator.done("why", explained["id"])

    await eventually(waits_for_its_time)  # its first sending may not be over
    past = await operator("alarms", "reschedule", "operated-p1", "2020-01-01T00:00Z")
    assert past.code == Exit.USAGE
    assert await operator.done("alarms", "delete", "operated-p1", "--yes") == (
        "Deleted the alarm of page operated-p1 (user operated)."
    )
    assert await operator.json("alarms", "list", "--user", "operated") == []
    assert isinstance(await operator.json("alerts", "list", "--all", "--limit", "1"), list)


@pytest.mark.req("SE-02")
async def test_permissions_are_those_of_the_key(platform, http):
    operated = await http.call(
        *("POST", "/rest/v1/jobs"),
        json={"target_url": VIDEO, "title": "Guarded", "is_active": False},
        headers={"Prefer": "return=representation"},
    )
    job = operated.json[0]["id"]
    assert (await http.register("GUARDED01")).status == 201
    async with browsing(platform) as admin:
        await admin.sign_in(*admin_of(platform))
        account = {"email": "watcher@example.com", "password": PASSWORD, "role": "viewer"}
        assert (await admin.call("POST", "/api/accounts", json=account))[0] == 201
    async with browsing(platform) as person:
        assert (await person.sign_in("watcher@example.com", PASSWORD))[0] == 200
        viewer = Operator("--url", platform.url, "--key", person.token)
    assert "Guarded" in await viewer.done("jobs", "list", "--limit", "200")
    assert "was created paused" in await viewer.done("why", job)
    for command in (
        ("jobs", "resume", job),
        ("jobs", "cancel", job, "--yes"),
        ("jobs", "create", VIDEO),
        ("jobs", "next", job),
        ("devices", "register", "OPERATE99", "--pc", "PC-OPS", "--group", "P9-G1"),
        ("pcs", "capacity", device("GUARDED01")["pc_id"], "1"),
        ("tests", "cleanup", "--yes"),
    ):
        ended = await viewer(*command)
        assert ended.code == Exit.FAILED, ended
        assert "permission denied" in ended.err
    anon = Operator("--url", platform.url, "--key", platform.credentials["anon_key"])
    ended = await anon("renders", "list")
    assert (ended.code, ended.out) == (Exit.FAILED, "")
    assert "permission denied for table dashboard" in ended.err
    ended = await Operator("--url", platform.url, "--key", "no-key")("jobs", "list")
    assert ended.code == Exit.CONFIGURATION
    assert "The key of --key was not accepted" in ended.err
    office = Operator("--data-dir", platform.data_dir)
    await office.done("jobs", "cancel", job, "--yes")


async def test_a_watch_shows_what_changes_and_ends_with_ctrl_c(platform, http, tmp_path):
    options = ("--serial", "WATCHED", "--watch", "--json", "--data-dir", platform.data_dir)
    watch = DroverProcess("devices", "list", *options, output=tmp_path / "watch.log")

    def last():
        return [json.loads(line) for line in watch.output.splitlines() if line.endswith("]")][-1:]

    try:
        await eventually(lambda: last() == [[]])
        assert (await http.register("WATCHED001")).status == 201
        await eventually(lambda: last() and last()[0] and last()[0][0]["serial_number"] == "WATCHED001")
        watch.interrupt_as_a_terminal_does()
        assert await watch.ended() == Exit.INTERRUPTED
    finally:
        await watch.end()
    assert "Traceback" not in watch.output
