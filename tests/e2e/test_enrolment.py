"""Enrolment on a real platform: a farm of 500 phones in one go, and what the keys are good for."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from drover.agent.clock import Clock
from drover.agent.enrolment import NotEnrolled
from drover.agent.protocol import Heartbeat
from drover.simulator.enrolment import Enroller
from drover.simulator.http import connect
from drover.simulator.phone import Identity
from drover.simulator.population import roll
from drover.testing.waiting import eventually
from tests.e2e.process import run_command
from tests.e2e.up import READY_S, Platform

pytestmark = pytest.mark.req("SE-03")

PCS: Final = 3
PHONES: Final = 500
WITHIN_S: Final = 20.0
"""How long enrolling 500 phones may take. On two busy cores it takes about a second."""
REVOKED_WITHIN_S: Final = 2.0
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
STOP_S: Final = 20.0
BEAT: Final = Heartbeat("online")
NO_KEY: Final = "no key at all"


async def drover(platform: Platform, *arguments: str) -> str:
    found = await run_command("key", *arguments, "--data-dir", platform.data_dir)
    return found.out.strip() or found.err.strip()


@pytest.fixture(scope="module")
def platform(background_loop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """One for all tests here: their phones and jobs would be in the way of others."""
    own = Platform(tmp_path_factory.mktemp("enrolment") / "data")
    try:
        background_loop.run(own.ready())
        yield own
    finally:
        background_loop.run(own.end())
    assert "Traceback" not in own.output


async def test_500_phones_enrol_in_one_go_and_each_key_is_for_its_phone_only(platform, capsys):
    keys = platform.credentials
    admin = {"email": keys["admin_email"], "password": keys["admin_password"]}
    phones = roll(PCS, -(-PHONES // PCS), seed=1)[:PHONES]
    async with connect(platform.url, NO_KEY, NO_KEY) as client:
        enroller, began = Enroller(client, Clock()), time.monotonic()
        ids = await enroller.enrol(phones, **admin)
        took_s = time.monotonic() - began
        with capsys.disabled():
            print(f"\n{len(ids)} phones of {PCS} PCs enrolled in {took_s:.2f} s")
        assert ids.keys() == {phone.serial_number for phone in phones}
        assert took_s < WITHIN_S

        # Every phone can beat and poll with its own key, and with no other.
        async def beats(phone: Identity) -> bool:
            return (await client.heartbeat(phone.serial_number, BEAT)).ok

        async def all_beat() -> bool:
            return all(await asyncio.gather(*map(beats, phones)))

        await eventually(all_beat, READY_S)
        first, second = (phone.serial_number for phone in phones[:2])
        assert (await client.poll(ids[first], first)).ok
        assert (await client.poll(ids[second], first)).offer is None
        lost = client._own[first]
        client._own[second], own = lost, client._own[second]
        assert (await client.heartbeat(second, BEAT)).status == 403
        client._own[second] = own

        # Enrolling again replaces the keys of one PC: the lost ones are refused.
        assert await enroller.enrol(phones[:3], **admin) == {
            phone.serial_number: ids[phone.serial_number] for phone in phones[:3]
        }
        assert client._own[first] != lost
        client._own[first], new = lost, client._own[first]

        async def is_refused() -> bool:
            return (await client.heartbeat(first, BEAT)).status == 401

        await eventually(is_refused, REVOKED_WITHIN_S)
        client._own[first] = new
        assert (await client.heartbeat(first, BEAT)).ok

        # A phone of another PC gets no key from this PC's code.
        stolen = [phones[0]._replace(pc_id="PC-NEW")]
        with pytest.raises(NotEnrolled, match="registered on another PC"):
            await enroller.enrol(stolen, **admin)

    # Codes on the command line.
    assert "There is no PC PC-TYPO" in await drover(platform, "enrol", "PC-TYPO")
    code = await drover(platform, "enrol", phones[0].pc_id, "--phones", "2")
    assert len(code.replace("-", "")) == 25
    listed = (await drover(platform, "codes")).splitlines()
    (made,) = [line.split() for line in listed if "0/2" in line]
    assert made[1:3] == [phones[0].pc_id, "open"]
    assert (
        await drover(platform, "withdraw", made[0]) == "The code is withdrawn. Keys that it has given out stay valid."
    )

    async def is_gone() -> bool:
        return made[0] not in await drover(platform, "codes")

    await eventually(is_gone, READY_S)
    assert made[0] in await drover(platform, "codes", "--all")


# Agents that were written with the library


@asynccontextmanager
async def example(name: str, directory: Path, *arguments: str) -> AsyncIterator[Path]:
    """An example agent in a directory of its own, until the end of the block. The value is its output."""
    output = directory / f"{name}.log"
    with output.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, EXAMPLES / name, *arguments), cwd=directory, stdout=file, stderr=file
        )
    try:
        yield output
    finally:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_S):
            assert await process.wait() == 0, output.read_text()


async def ended(http, job_title: str) -> list[dict]:
    """The assignments of this job, when all of them have ended."""

    async def all_ended():
        jobs = await http.rows("jobs", f"title=eq.{job_title}&select=id,job_assignments(status,error_code,did_like)")
        work = jobs[0]["job_assignments"] if jobs else []
        return work if work and all(one["status"] in ("completed", "failed") for one in work) else None

    return await eventually(all_ended, READY_S, every_s=0.2)


async def give(http, title: str, pc: str, **job) -> None:
    body = {"title": title, "target_url": f"https://youtu.be/{title}", "target": {"pc_id": pc}, **job}
    assert (await http.call("POST", "/rest/v1/jobs", json=body)).status == 201


@pytest.mark.req("DF-13", "DF-24", "DF-27")
async def test_the_example_agents_do_their_work_and_go_on_after_a_restart(platform, tmp_path):
    phone_code = await drover(platform, "enrol", "PC-91", "--new")
    pc_code = await drover(platform, "enrol", "PC-92", "--new")
    async with platform.calling() as http:
        async with (
            example("one_phone.py", tmp_path, platform.url, phone_code) as output,
            example("pc_with_20_phones.py", tmp_path, platform.url, pc_code),
        ):

            async def all_online() -> bool:
                rows = await http.rows("devices", "serial_number=like.EXAMPLE*&status=eq.online")
                return len(rows) == 21

            await eventually(all_online, READY_S, every_s=0.2)
            await give(http, "good", "PC-91")
            assert [one["status"] for one in await ended(http, "good")] == ["completed"]
            await give(http, "twenty", "PC-92", prob_like=100)

            async def half_have_begun() -> bool:  # none is done within the next four seconds
                path = "status=eq.running&progress_pct=gte.10&select=id"
                return len(await http.rows("job_assignments", path)) >= 10

            await eventually(half_have_begun, READY_S, every_s=0.05)
        # The agents have stopped in the middle. Their next processes need no code.
        async with (
            example("one_phone.py", tmp_path, platform.url),
            example("pc_with_20_phones.py", tmp_path, platform.url) as output,
        ):
            work = await ended(http, "twenty")
            assert {(one["status"], one["did_like"]) for one in work} == {("completed", True)}
            assert len(work) == 20
            assert "from before, and asks whether it is still wanted" in output.read_text()
            await give(http, "broken", "PC-91")
            assert [(one["status"], one["error_code"]) for one in await ended(http, "broken")] == [
                ("failed", "APP_CRASH")
            ]
