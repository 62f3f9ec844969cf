"""Many phones in one process, over real HTTP, on a fast clock."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

import msgspec
import pytest
from aiohttp import web

from drover.agent.clock import Clock
from drover.embedded.credentials import Credentials
from drover.simulator import farm as farm_module
from drover.simulator.app import CredentialsMissing, Options, Simulation, TooManyToStore, read_credentials
from drover.simulator.farm import Farm
from drover.simulator.http import connect
from drover.simulator.ledger import Ledger
from drover.simulator.population import Wiring, in_files, populate, troubles_of_line
from drover.simulator.registration import Registrar, wait_until_ready
from drover.simulator.script import CALM, ROUGH, Fault, Post, Script, Show
from drover.simulator.tally import Tally
from drover.testing.waiting import eventually

from .conftest import ANON_KEY, SERVICE_KEY, Platform, device_id

pytestmark = pytest.mark.usefixtures("clocks_of_the_loop")

SENDERS = 16


async def registered(client, phones):
    """The phones, known to the platform and to themselves."""
    registrar = Registrar(client, Clock(speed=100))
    await registrar.register(identities(phones))
    ids = await registrar.device_ids([phone.identity.serial_number for phone in phones])
    for phone in phones:
        phone.device_id = ids[phone.identity.serial_number]
    return phones


@asynccontextmanager
async def nobody_home(port: int) -> AsyncIterator[list[bool]]:
    """Every connection is cut at once; the value counts them."""
    knocks: list[bool] = []

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        knocks.append(True)
        writer.transport.abort()

    async with await asyncio.start_server(cut, "127.0.0.1", port):
        yield knocks


def identities(phones):
    return [phone.identity for phone in phones]


@pytest.mark.alone
async def test_two_thousand_phones_beat_on_time_with_few_connections(platform, client):
    phones = await registered(client, populate(100, 20, 1, CALM))
    platform.delay = lambda: asyncio.sleep(0.002)
    platform.poll_after_s = 60  # only heartbeats count here, and this process is also the platform
    farm = Farm(phones, client, Clock(speed=2), senders=SENDERS)
    async with farm.running(until=20), asyncio.timeout(60):
        await farm.wait_ended()
    assert len(platform.beats) == 2000
    assert set(platform.beats.values()) == {2}
    assert platform.statuses == {"online"}
    assert 1 < platform.at_once_max <= SENDERS


async def test_registration_goes_in_hundreds_and_can_be_repeated(platform, client):
    phones = identities(populate(13, 20, 1, CALM))
    registrar = Registrar(client, Clock())
    await registrar.register(phones[:150])
    assert platform.posts == [("/rest/v1/pcs", 8), ("/rest/v1/devices", 100), ("/rest/v1/devices", 50)]
    await registrar.register(phones)
    assert platform.posts[3:] == [("/rest/v1/pcs", 5), *[("/rest/v1/devices", n) for n in (100, 100, 60)]]
    await registrar.register(phones)
    assert platform.devices.keys() == {phone.serial_number for phone in phones}
    assert platform.pcs == {f"PC-{pc:02d}" for pc in range(1, 14)}


async def test_registration_goes_on_until_the_platform_takes_it(platform, client):
    refusals = iter([web.Response(status=503), web.Response(status=429, headers={"Retry-After": "3"})])
    platform.refuse = lambda request: next(refusals, None)
    await Registrar(client, Clock(speed=1000)).register(identities(populate(1, 2, 1, CALM)))
    assert len(platform.devices) == 2


async def test_phones_that_are_not_there_after_all_are_not_looked_for_without_end(platform, client):
    platform.devices["SIM00001P001D001"] = {}
    ids = await Registrar(client, Clock(speed=1000)).device_ids(["SIM00001P001D001", "SIM00001P001D002"])
    assert ids == {"SIM00001P001D001": device_id("SIM00001P001D001")}


async def test_phones_that_the_platform_forgot_are_registered_again(platform, client):
    phones = populate(2, 5, 1, CALM)
    farm = Farm(phones, client, Clock(speed=200))
    async with farm.running():
        await eventually(lambda: len(platform.beats) == 10)
        platform.devices.clear()
        platform.beats.clear()
        await eventually(lambda: len(platform.beats) == 10)


async def test_the_farm_survives_a_restart_of_the_platform():
    platform = Platform()
    phones = populate(1, 10, 1, CALM)
    async with platform.serving() as port, connect(platform.url, ANON_KEY, SERVICE_KEY) as client:
        await registered(client, phones)
    async with connect(platform.url, ANON_KEY, SERVICE_KEY) as client:
        farm = Farm(phones, client, Clock(speed=200))
        async with farm.running():
            async with platform.serving(port):
                await eventually(lambda: len(platform.beats) == 10)
            platform.beats.clear()
            async with nobody_home(port) as knocks:
                await eventually(lambda: len(knocks) >= 10)
            async with platform.serving(port):
                await eventually(lambda: len(platform.beats) == 10)


async def test_a_phone_in_trouble_is_missing_and_the_others_go_on(platform, client):
    dark = Fault("no power", every_s=1e-9, lasts_s=(1e9, 1e9), stops_agent=True)
    phones = await registered(client, populate(1, 5, 1, CALM) + populate(1, 5, 2, Script(phone_faults=(dark,))))
    well = {phone.identity.serial_number for phone in phones[:5]}
    async with Farm(phones, client, Clock(speed=100)).running():
        await eventually(lambda: platform.beats.keys() >= well and min(platform.beats.values()) >= 3)
    assert platform.beats.keys() == well


async def test_one_stalled_request_does_not_hold_the_others_up(platform, client):
    phones = await registered(client, populate(1, 3, 1, CALM))
    stalled, go_on = iter([True]), asyncio.Event()
    platform.delay = lambda: go_on.wait() if next(stalled, False) else asyncio.sleep(0)
    farm = Farm(phones, client, Clock(speed=100))
    async with farm.running():
        await eventually(lambda: sum(platform.beats.values()) >= 10)
        assert len(platform.beats) == 2
        go_on.set()


async def test_what_cannot_even_wait_for_a_sender_is_as_good_as_not_connected(platform, client, monkeypatch):
    monkeypatch.setattr(farm_module, "REQUESTS_PER_PHONE_MAX", 1)
    phones = await registered(client, populate(1, 3, 1, CALM))
    go_on = asyncio.Event()
    platform.delay = go_on.wait
    farm = Farm(phones, client, Clock(speed=100), senders=1)
    async with farm.running():
        await eventually(lambda: farm.tally._answers.keys() & {"heartbeat no connection", "poll no connection"})
        go_on.set()
        await eventually(lambda: len(platform.beats) == 3)


async def test_leaving_waits_for_the_requests_under_way(platform, client):
    phones = await registered(client, populate(1, 1, 1, CALM))
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        arrived.set()
        await go_on.wait()

    platform.delay = hold
    async with Farm(phones, client, Clock(speed=100)).running():
        await arrived.wait()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    assert platform.beats.total() == 1


async def test_the_farm_waits_until_the_platform_is_ready(platform, client):
    platform.ready_after = 8
    await wait_until_ready(client, Clock(speed=1000))
    assert platform.ready_after < 0


async def test_missing_or_broken_credentials_are_named_with_what_to_do(tmp_path):
    with pytest.raises(CredentialsMissing, match=r"did not appear.*Start `drover up`"):
        await read_credentials(tmp_path / "credentials.json", within_s=0)
    (tmp_path / "credentials.json").write_text("{")
    with pytest.raises(CredentialsMissing, match="cannot be read"):
        await read_credentials(tmp_path / "credentials.json")


def write_credentials(data_dir, platform):
    credentials = Credentials(
        url=platform.url,
        anon_key=ANON_KEY,
        service_key=SERVICE_KEY,
        cron_secret="",
        admin_email="",
        admin_password="",
        nats_url="",
        postgres_url="",
    )
    (data_dir / "credentials.json").write_bytes(msgspec.json.encode(credentials))


async def test_the_process_runs_until_sigterm_and_exits_with_0(platform, tmp_path):
    write_credentials(tmp_path, platform)
    arguments = ["--data-dir", str(tmp_path), "--pcs", "2", "--phones", "3", "--speed", "50"]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "drover.simulator", *arguments)
    try:
        await eventually(lambda: len(platform.beats) == 6)
    finally:
        process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 60) == 0


@pytest.mark.req("DF-12", "DF-24")
async def test_phones_over_http_fetch_their_work_and_report_it(platform, client):
    tally = Tally(Ledger(lambda: None))
    script = Script(show=Show(video_s=(20, 20)))
    phones = await registered(client, populate(2, 3, 1, script, observer_of=tally.observer))
    work = [platform.hand_out(phone.identity.serial_number) for phone in phones for _ in range(2)]
    async with Farm(phones, client, Clock(speed=30), tally=tally).running():
        await eventually(lambda: tally.total["completed"] == 12, within_s=30)
    assert platform.ended == dict.fromkeys(work, "completed")
    assert {report["answer"] for report in platform.reports} == {204}
    first = [report for report in platform.reports if report["assignment_id"] == work[0]]
    assert first[0]["status"] == "running" and first[0]["started_at"].endswith("Z") and first[0]["progress_pct"] == 0
    assert first[-1]["completed_at"] > first[0]["started_at"] and first[-1]["actual_duration_sec"] == 20
    assert {(run.end, run.receipt) for run in tally.ledger.runs()} == {("completed", "recorded")}
    assert tally.poll.count >= 12
    assert platform.statuses == {"online", "busy"}


@pytest.mark.req("DF-13")
async def test_work_that_was_rolled_back_is_refused_dropped_and_started_over(platform, client):
    tally = Tally(Ledger(lambda: None))
    script = Script(show=Show(video_s=(60, 60)))
    (phone,) = phones = await registered(client, populate(1, 1, 1, script, observer_of=tally.observer))
    work = platform.hand_out(phone.identity.serial_number)
    async with Farm(phones, client, Clock(speed=30), tally=tally).running():
        await eventually(lambda: platform.assignments[work]["progress_pct"] >= 20)
        platform.roll_back(work)
        await eventually(lambda: work in platform.ended)
        await eventually(lambda: tally.total["completed"] == 1)
    assert [(run.run, run.end) for run in tally.ledger.runs()] == [(1, "stale"), (2, "completed")]
    assert [report["answer"] for report in platform.reports if report["run"] == 1][-1] == "STALE_ATTEMPT"
    assert next(report for report in platform.reports if report["run"] == 2)["progress_pct"] == 0


async def test_repeated_reports_are_refused_and_do_no_harm(platform, client):
    tally = Tally(Ledger(lambda: None))
    script = Script(show=Show(video_s=(20, 20)), post=Post(repeated=1.0))
    phones = await registered(client, populate(1, 2, 1, script, observer_of=tally.observer))
    for phone in phones:
        platform.hand_out(phone.identity.serial_number)
    async with Farm(phones, client, Clock(speed=30), tally=tally).running():
        await eventually(lambda: tally.total["reports repeated"] == 2)
    assert [report["answer"] for report in platform.reports if report["status"] == "completed"].count("CONFLICT") == 2
    assert tally.total["completed"] == 2


async def test_a_farm_with_every_trouble_says_of_every_run_what_the_platform_says_of_it(platform, client):
    """Some minutes of a rough farm, both ways of talking; the ledger and the platform's books must agree."""
    tally = Tally(Ledger(lambda: None))
    rough = replace(ROUGH, phone_faults=tuple(replace(fault, every_s=120) for fault in ROUGH.phone_faults))
    phones = populate(4, 10, 1, rough, wiring=Wiring("mixed"), observer_of=tally.observer)
    await registered(client, phones)
    farm = Farm(
        phones, client, Clock(speed=60), tally=tally, line_troubles=lambda phone: troubles_of_line(phone, 1, rough)
    )
    numbers = count()

    async def more_work_until_enough_was_done() -> bool:
        number = next(numbers)
        await platform.push(platform.hand_out(phones[number % 40].identity.serial_number, f"https://youtu.be/{number}"))
        return len(platform.ended) > 100 and tally.total["runs resumed"] > 3

    async with farm.running():
        await eventually(more_work_until_enough_was_done, within_s=60, every_s=0.02)
    runs = {(run.assignment_id, run.run): run for run in tally.ledger.runs()}
    recorded = {
        (report["assignment_id"], report["run"]): report["status"]
        for report in platform.reports
        if report["answer"] == 204 and report["status"] != "running"
    }
    assert len(recorded) > 100
    assert recorded.keys() <= runs.keys()
    for key, run in runs.items():
        if run.receipt == "recorded":
            assert recorded[key] == run.said
        elif run.end in ("completed", "failed"):
            assert run.receipt == "conflict" and key in recorded


async def test_progress_in_files_survives_the_end_of_the_program(platform, client, tmp_path):
    script = Script(show=Show(video_s=(400, 400)))
    work = platform.hand_out(populate(1, 1, 1, CALM)[0].identity.serial_number)

    async def work_until(progress_pct: int) -> None:
        clock = Clock(speed=50)
        phones = await registered(client, populate(1, 1, 1, script, store_of=in_files(tmp_path / "store", clock)))
        async with Farm(phones, client, clock).running():
            await eventually(lambda: platform.assignments[work]["progress_pct"] >= progress_pct)

    await work_until(20)
    await work_until(40)
    progress = [report["progress_pct"] for report in platform.reports]
    assert progress == sorted(progress)
    assert sum("started_at" in report for report in platform.reports) == 1


async def test_the_program_keeps_its_farm_busy_and_writes_its_ledger_at_the_end(platform, tmp_path):
    write_credentials(tmp_path, platform)
    options = Options(
        tmp_path, pcs=2, phones_per_pc=3, speed=30, script=CALM, transport="mixed", jobs_waiting=2,
        store=tmp_path / "store", ledger=tmp_path / "ledger.json",
    )  # fmt: skip
    simulation = Simulation(options)
    async with simulation.running():
        await eventually(lambda: len(platform.jobs) == 2 and len(platform.beats) == 6)
        assert [line.hello["pc_id"] for line in platform.lines] == ["PC-01"]
        for serial in sorted(platform.devices):
            await platform.push(platform.hand_out(serial))
        await eventually(lambda: simulation.tally.total["completed"] == 6)
    ledger = msgspec.json.decode((tmp_path / "ledger.json").read_bytes())
    assert [run["end"] for run in ledger["runs"]] == ["completed"] * 6
    assert ledger["totals"]["runs"] == 6 and ledger["seed"] == 1
    assert list((tmp_path / "store").iterdir()) == []


async def test_a_program_that_ended_in_order_goes_on_where_it_was(platform, tmp_path):
    write_credentials(tmp_path, platform)
    script = Script(show=Show(video_s=(400, 400)))
    options = Options(tmp_path, pcs=2, phones_per_pc=1, speed=50, script=script, jobs_waiting=0)
    work: list[str] = []

    async def work_until(progress_pct: int, connections: int) -> None:
        async with Simulation(options).running():
            await eventually(lambda: len(platform.lines) == connections)
            for serial in sorted(platform.devices) if not work else ():
                work.append(platform.hand_out(serial))
                await platform.push(work[-1])
            await eventually(lambda: all(platform.assignments[one]["progress_pct"] >= progress_pct for one in work))

    await work_until(20, 1)
    await work_until(40, 2)
    for one in work:
        told = [report for report in platform.reports if report["assignment_id"] == one]
        assert [report["progress_pct"] for report in told] == sorted(report["progress_pct"] for report in told)
        assert sum("started_at" in report for report in told) == 1
    assert [held["assignment_id"] for held in platform.lines[1].hello["holding"]] == [work[0]]


def test_files_are_for_a_few_phones(tmp_path):
    with pytest.raises(TooManyToStore, match="at most 200 phones, and there are 400"):
        Simulation(Options(tmp_path, pcs=20, phones_per_pc=20, store=tmp_path))
