"""The services in processes of their own, on servers that somebody else runs: as in production."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from drover.archiver.app import NICENESS
from drover.cli.exits import Exit
from drover.testing.waiting import eventually
from tests.e2e.farmhand import hire, order
from tests.e2e.process import run_to_the_end

TAKE_OVER = timedelta(seconds=15)
HAND_OVER = timedelta(seconds=7)
"""What is left of a lease at least, which lasts 10 s and is renewed every 3 s."""
PHONES = [f"APART{number:05}" for number in range(20)]
BEAT_EVERY_S = 0.2
BEATS_AFTERWARDS = 12
"""Some seconds of beats: the new leader has looked for silent phones more than once by then."""


def of_fleet(status):
    return next(partition for partition in status["partitions"] if partition["context"] == "fleet")


@pytest.mark.req("EV-01", "EV-02", "EV-03", "EV-07")
async def test_each_on_its_own_they_are_one_platform(farm):
    scheduler, gateway, reading = await asyncio.gather(
        farm.serve("scheduler"), farm.serve("gateway"), farm.serve("projector", "api")
    )
    async with farm.calling(gateway) as edge, farm.calling(reading) as office, farm.calling(scheduler) as inside:
        made = await edge.register(*PHONES)
        assert made.status == 201
        at_least = {"Drover-Min-Position": made.headers["Drover-Position"]}
        await edge.reach(made.headers["Drover-Position"])  # the projector has just started, in a process of its own
        assert [
            row["serial_number"] for row in await edge.rows("devices", "order=serial_number", headers=at_least)
        ] == PHONES
        assert (await edge.beat(PHONES[0])).status == 204

        async def online():
            return await edge.status_of(PHONES[0]) == "online"

        await eventually(online)
        status = (await office.get("/api/status")).json
        assert status["devices"] == {"online": 1, "offline": len(PHONES) - 1}
        partition = of_fleet(status)
        assert (partition["leader"], partition["behind"]) == ("scheduler", 0)

        assert (await office.get("/")).status == 200
        assert (await edge.get("/")).status == 404, "the page is the api's"
        assert (await inside.get("/rest/v1/devices")).status == 404, "phones are the gateway's"
        for process in (inside, edge, office):
            assert b"# HELP drover_" in (await process.get("/metrics")).raw

    for process in (gateway, reading, scheduler):
        process.send(signal.SIGTERM)
        assert await process.ended() == 0
        assert "Traceback" not in process.output


async def test_a_service_whose_port_is_taken_says_so_and_ends(farm):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        environ = farm.environ | {"DROVER_HTTP_PORT": port}
        code, said = await run_to_the_end("serve", "all", output=farm.folder / "refused.log", environ=environ)
    assert code == Exit.BUSY
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert port in last
    assert "DROVER_HTTP_PORT" in last


@asynccontextmanager
async def beating(http, phones):
    """All phones beat as long as the block lasts. Gives a list that grows with each round that was answered."""
    rounds = []

    async def beat():
        while True:
            answers = await asyncio.gather(*(http.beat(phone) for phone in phones))
            assert {answer.status for answer in answers} == {204}
            rounds.append(time.monotonic())
            await asyncio.sleep(BEAT_EVERY_S)

    task = asyncio.create_task(beat())
    try:
        yield rounds
        assert not task.done(), task.exception()
    finally:
        task.cancel()


async def fleet_terms(http):
    """Who has led the fleet, and since when, as the log has it: how busy the test itself is does not count."""
    rows = await http.rows("events", "context=eq.fleet&type=eq.TermStarted&order=n")
    return [(row["data"]["holder"], datetime.fromisoformat(row["at"])) for row in rows]


@pytest.mark.slow
@pytest.mark.req("EV-01", "EV-02", "DF-04")
async def test_when_the_leading_scheduler_is_killed_the_standby_goes_on_and_nobody_goes_offline(farm):
    leader, edge = await asyncio.gather(
        farm.serve("scheduler", name="leader"), farm.serve("gateway", "projector", "api", name="edge")
    )
    async with farm.calling(edge) as http:

        async def leader_is(name):
            partition = of_fleet((await http.get("/api/status")).json)
            return partition["leader"] == name

        async def all_heard():
            return {row["status"] for row in await http.rows("devices")} == {"online", "busy"}

        await eventually(lambda: leader_is("leader"))
        assert (await http.register(*PHONES)).status == 201
        standby = await farm.serve("scheduler", name="standby")
        hand = await hire(http, "ATWORK0001")
        await order(http, hand)
        work = await hand.work()
        assert (await hand.report(work, "running", progress_pct=10)).status == 204
        async with beating(http, [*PHONES, hand.serial]) as rounds:
            await eventually(all_heard)
            leader.send(signal.SIGKILL)
            killed_at = datetime.now(UTC)
            assert (await http.register("DURING0001")).status == 201
            assert await leader_is("standby")
            assert (await hand.report(work, "running", progress_pct=50)).status == 204, "its work is still its own"
            aim = len(rounds) + BEATS_AFTERWARDS
            await eventually(lambda: len(rounds) >= aim)
        assert (await hand.complete(work)).status == 204
        await http.catch_up()
        assert await http.rows("events", "type=in.(DeviceWentOffline,AttemptRolledBack)") == []
        assert await http.rows("alerts") == []
        terms = await fleet_terms(http)
        assert [holder for holder, _ in terms] == ["leader", "standby"]
        assert terms[1][1] - killed_at < TAKE_OVER

        await leader.ended()
        await farm.serve("scheduler", name="again")
        standby.send(signal.SIGTERM)
        assert await standby.ended() == 0
        handed_over_at = datetime.now(UTC)
        assert (await http.register("HANDOVER01")).status == 201
        assert await leader_is("again")
        await http.catch_up()
        holder, since = (await fleet_terms(http))[-1]
        assert holder == "again"
        assert since - handed_over_at < HAND_OVER, "a stop hands over; nobody waits for a lease"


@pytest.mark.req("YR-01")
async def test_an_archiver_in_a_process_of_its_own_leaves_the_processors_to_others(farm, tmp_path):
    archiver = await farm.serve("archiver", DROVER_ARCHIVE=str(tmp_path / "archive"))
    assert psutil.Process(archiver.pid).nice() == min(19, psutil.Process().nice() + NICENESS)
