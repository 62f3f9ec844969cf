"""Phones over WebSockets, against a platform that speaks the documented protocol, on a fast clock."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from aiohttp import web

from drover.agent.clock import Clock
from drover.agent.protocol import Answer, Heartbeat, Holding, Offer
from drover.agent.socket import FRAMES_WAITING_PER_PHONE_MAX
from drover.simulator.farm import Farm
from drover.simulator.http import connect
from drover.simulator.ledger import Ledger
from drover.simulator.phone import Errand, Phone
from drover.simulator.population import Wiring, populate, roll
from drover.simulator.registration import Registrar
from drover.simulator.script import CALM, Episode, Fault, Script, Show
from drover.simulator.socket_line import FarmLine
from drover.simulator.tally import Tally
from drover.testing.waiting import eventually

from .conftest import ANON_KEY, SERVICE_KEY, Line, Platform, device_id
from .test_farm import identities

pytestmark = pytest.mark.usefixtures("clocks_of_the_loop")

SPEED = 50.0
BY_PC, ALONE = Wiring("socket", "pc"), Wiring("socket", "device")
QUICK = Script(show=Show(video_s=(20, 20)))
SLOW = Script(show=Show(video_s=(2000, 2000)))
NO_POWER = Fault("no power", every_s=1, lasts_s=(1, 1), stops_agent=True)


@asynccontextmanager
async def farm_of(client, phones, tally, **options):
    await Registrar(client, Clock()).register(identities(phones))
    farm = Farm(phones, client, Clock(SPEED), tally=tally, **options)
    async with farm.running():
        yield farm


@pytest.fixture
def tally() -> Tally:
    return Tally(Ledger(lambda: None))


def farm_by(tally: Tally, pcs: int, phones_per_pc: int, script: Script, wiring: Wiring = BY_PC) -> list[Phone]:
    return populate(pcs, phones_per_pc, 1, script, wiring=wiring, observer_of=tally.observer)


def serial(phone: Phone) -> str:
    return phone.identity.serial_number


async def welcomed(platform: Platform, lines: int = 1) -> Line:
    await eventually(lambda: len(platform.lines) >= lines)
    return platform.lines[lines - 1]


def answers(platform: Platform, status: str) -> list:
    return [report["answer"] for report in platform.reports if report["status"] == status]


async def test_one_socket_speaks_for_all_phones_of_a_pc(platform, client, tally):
    phones = farm_by(tally, 2, 3, CALM)
    async with farm_of(client, phones, tally):
        await eventually(lambda: len(platform.beats) == 6 and min(platform.beats.values()) >= 3)
    assert sorted(line.hello["pc_id"] for line in platform.lines) == ["PC-01", "PC-02"]
    assert all(line.hello["holding"] == [] for line in platform.lines)
    assert platform.polls.total() == 0


async def test_a_phone_can_have_a_socket_of_its_own(platform, client, tally):
    phones = farm_by(tally, 1, 3, CALM, ALONE)
    async with farm_of(client, phones, tally):
        await eventually(lambda: len(platform.beats) == 3)
    assert {line.hello["serial_number"] for line in platform.lines} == {serial(phone) for phone in phones}


@pytest.mark.req("DF-24")
async def test_pushed_work_is_begun_reported_and_completed(platform, client, tally):
    phones = farm_by(tally, 1, 3, QUICK)
    async with farm_of(client, phones, tally):
        line = await welcomed(platform)
        work = [platform.hand_out(serial(phone)) for phone in phones]
        for one in work:
            await platform.push(one)
        await eventually(lambda: len(platform.ended) == 3)
        await eventually(lambda: tally.done.count == 3)
    assert platform.ended == dict.fromkeys(work, "completed")
    assert {report["answer"] for report in platform.reports} == {204}
    of_one = [report for report in platform.reports if report["assignment_id"] == work[0]]
    assert "started_at" in of_one[0] and "started_at" not in of_one[1]
    progress = [report["progress_pct"] for report in of_one]
    assert (progress[0], progress[-1]) == (0, 100)
    assert 4 < len(progress) <= 11 and all(later - earlier >= 10 for earlier, later in pairwise(progress[:-1]))
    assert {report["run"] for report in of_one} == {1}
    refs = [frame["ref"] for frame in line.heard("report")]
    assert refs == sorted(set(refs))
    assert platform.statuses == {"online", "busy"}


async def test_a_withdrawn_run_is_stopped(platform, client, tally):
    (phone,) = phones = farm_by(tally, 1, 1, SLOW)
    async with farm_of(client, phones, tally):
        line = await welcomed(platform)
        work = platform.hand_out(serial(phone))
        await platform.push(work)
        await eventually(lambda: platform.reports)
        await line.say(type="withdrawn", assignment_id=work, run=1, reason="cancelled")
        await eventually(lambda: tally.total["withdrawn"] == 1)
        assert phone.holding(0) is None


@pytest.mark.req("DF-13", "DF-27")
async def test_after_a_cut_the_socket_comes_back_says_what_it_holds_and_goes_on(platform, client, tally):
    (phone,) = phones = farm_by(tally, 1, 1, SLOW)
    async with farm_of(client, phones, tally):
        await welcomed(platform)
        work = platform.hand_out(serial(phone))
        await platform.push(work)
        await eventually(lambda: platform.assignments[work]["progress_pct"] >= 2)
        await platform.drop_lines()
        line = await welcomed(platform, 2)
        (held,) = line.hello["holding"]
        assert (held["assignment_id"], held["run"]) == (work, 1) and held["progress_pct"] >= 2
        await eventually(lambda: len(line.heard("report")) >= 2)
        assert line.heard("report")[0]["progress_pct"] >= held["progress_pct"]
        assert "started_at" not in line.heard("report")[0]
        assert tally.total["runs"] == 1
    assert set(answers(platform, "running")) == {204}


@pytest.mark.req("DF-13")
async def test_what_was_rolled_back_meanwhile_is_dropped_and_started_over(platform, client, tally):
    (phone,) = phones = farm_by(tally, 1, 1, SLOW)
    async with farm_of(client, phones, tally):
        await welcomed(platform)
        work = platform.hand_out(serial(phone))
        await platform.push(work)
        await eventually(lambda: platform.assignments[work]["progress_pct"] >= 2)
        platform.roll_back(work)
        await platform.drop_lines()
        line = await welcomed(platform, 2)
        await platform.push(work)
        await eventually(lambda: line.heard("report"))
        assert (line.heard("report")[0]["run"], line.heard("report")[0]["progress_pct"]) == (2, 0)
        assert tally.total["dropped"] == 1
    assert "STALE_ATTEMPT" not in answers(platform, "running")


async def test_a_report_without_an_answer_is_sent_again_on_the_next_socket(platform, client, tally):
    (phone,) = phones = farm_by(tally, 1, 1, QUICK)
    async with farm_of(client, phones, tally):
        await welcomed(platform)
        work = platform.hand_out(serial(phone))
        await platform.push(work)
        await eventually(lambda: platform.assignments[work]["progress_pct"] >= 70)
        platform.silent = True
        await eventually(lambda: platform.reports[-1]["progress_pct"] >= 80)
        await platform.drop_lines()
        await eventually(lambda: platform.ended)
        platform.silent = False
        await platform.drop_lines()
        await eventually(lambda: tally.total["completed"] == 1)
    assert answers(platform, "completed") == [204, "CONFLICT"]
    (run,) = tally.ledger.runs()
    assert (run.end, run.said, run.receipt) == ("completed", "completed", "conflict")


class Deaf:
    """An exchange that only remembers what it was told."""

    def __init__(self, *held: Holding | None) -> None:
        self.held = held
        self.told: list[tuple] = []

    def answered(self, number: int, errand: Errand, answer: Answer) -> None:
        self.told.append(("answered", number, answer.status))

    def offered(self, number: int, offer: Offer) -> None:
        self.told.append(("offered", number, offer.id))

    def withdrawn(self, number: int, assignment_id: str, run: int) -> None:
        self.told.append(("withdrawn", number, assignment_id, run))

    def connected(self, number: int) -> None:
        self.told.append(("connected", number))

    def disconnected(self, number: int) -> None:
        self.told.append(("disconnected", number))

    def judged(self, number: int, assignment_id: str, run: int, goes_on: bool) -> None:
        self.told.append(("judged", number, assignment_id, run, goes_on))

    def holding(self, number: int) -> Holding | None:
        return self.held[number]

    def unknown(self, number: int) -> None:
        self.told.append(("unknown", number))


@asynccontextmanager
async def line_of(exchange: Deaf, client, tally, *, phones: int):
    identities = roll(1, phones, 1)
    await Registrar(client, Clock()).register(identities[:-1])  # the last one is a stranger
    numbers = {identity.serial_number: number for number, identity in enumerate(identities)}
    line = FarmLine({"pc_id": "PC-01"}, numbers, exchange, client, Clock(SPEED), tally)
    task = asyncio.create_task(line.run())
    try:
        yield line
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_after_the_welcome_phones_learn_that_they_are_connected_and_then_the_verdicts(platform, client, tally):
    own = platform.hand_out("SIM00001P001D001")
    exchange = Deaf(Holding(own, 1, 40), Holding("another's", 7, 10), None)
    async with line_of(exchange, client, tally, phones=3):
        await eventually(lambda: len(exchange.told) == 5)
    assert exchange.told == [
        ("connected", 0),
        ("connected", 1),
        ("unknown", 2),
        ("judged", 0, own, 1, True),
        ("judged", 1, "another's", 7, False),
    ]


async def test_a_line_that_is_down_says_so_at_once_and_a_stranger_is_told_that_it_is_one(platform, client, tally):
    exchange = Deaf(None, None)
    beat = Errand(Heartbeat("online"), 1)
    async with line_of(exchange, client, tally, phones=2) as line:
        line.carry(0, beat)
        assert exchange.told == [("answered", 0, None)]
        await eventually(lambda: ("connected", 0) in exchange.told)
        line.carry(0, beat)
        line.carry(1, beat)
        assert exchange.told[-2:] == [("answered", 0, 204), ("answered", 1, 404)]


async def test_a_line_can_be_ended_at_any_moment(platform, client, tally):
    await Registrar(client, Clock()).register(roll(1, 1, 1))
    for moment in range(60):
        exchange = Deaf(None)
        line = FarmLine({"pc_id": "PC-01"}, {"SIM00001P001D001": 0}, exchange, client, Clock(SPEED), tally)
        task = asyncio.create_task(line.run())
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=5)
        assert done, f"after {moment} turns of the loop"
    assert any(line.hello for line in platform.lines)


async def test_a_line_does_not_gather_more_than_its_bound(platform, client, tally):
    exchange = Deaf(None, None)
    async with line_of(exchange, client, tally, phones=2) as line:
        await eventually(lambda: ("connected", 0) in exchange.told)
        for _ in range(50):
            line.carry(0, Errand(Heartbeat("online"), 1))
    answered = [one[2] for one in exchange.told if one[0] == "answered"]
    most = FRAMES_WAITING_PER_PHONE_MAX * 2 + 1
    assert answered == [204] * most + [None] * (50 - most)


async def test_bye_is_obeyed(platform, client, tally):
    phones = farm_by(tally, 1, 1, CALM)
    async with farm_of(client, phones, tally):
        line = await welcomed(platform)
        began = asyncio.get_running_loop().time()
        await line.say(type="bye", reason="restart", reconnect_after_s=20)
        await line.socket.close(code=1012)
        await welcomed(platform, 2)
        assert asyncio.get_running_loop().time() - began >= 20 / SPEED


@pytest.mark.req("DF-12")
async def test_a_socket_that_is_refused_backs_off(platform, client, tally):
    refused = []

    def refuse(request: web.Request) -> web.Response | None:
        if not request.path.startswith("/agent") or len(refused) == 3:
            return None
        refused.append(asyncio.get_running_loop().time())
        return web.Response(status=503)

    platform.refuse = refuse
    async with farm_of(client, farm_by(tally, 1, 1, CALM), tally):
        await welcomed(platform)
    gaps = [(later - earlier) * SPEED for earlier, later in pairwise(refused)]
    assert gaps[0] >= 5 and gaps[1] >= 10


async def test_phones_that_the_platform_does_not_know_are_registered_and_welcomed(platform, client, tally):
    phones = farm_by(tally, 1, 3, CALM)
    async with farm_of(client, phones, tally):
        await welcomed(platform)
        del platform.devices[serial(phones[2])]
        platform.beats.clear()
        await platform.drop_lines()
        await eventually(lambda: platform.beats[serial(phones[2])])
    platform.devices.clear()
    platform.beats.clear()
    async with connect(platform.url, ANON_KEY, SERVICE_KEY) as another:
        farm = Farm(populate(1, 3, 1, CALM, wiring=BY_PC), another, Clock(SPEED))
        async with farm.running():
            await eventually(lambda: len(platform.beats) == 3)


@pytest.mark.req("DF-13")
async def test_after_an_outage_of_their_pc_phones_resume_from_their_stores(platform, client, tally):
    outage = Episode(60, 200, NO_POWER)
    (usual,) = farm_by(tally, 1, 1, SLOW)
    observer = tally.observer(usual.identity)
    phone = Phone(
        usual.identity, player=usual._runs._player, speech="pc socket", troubles=iter([outage]), observer=observer
    )  # fmt: skip
    async with farm_of(client, [phone], tally, line_troubles=lambda phone: iter([outage])):
        await welcomed(platform)
        work = platform.hand_out(serial(phone))
        await platform.push(work)
        await eventually(lambda: platform.assignments[work]["progress_pct"] >= 1)
        again = await welcomed(platform, 2)
        assert again.hello["holding"][0]["assignment_id"] == work
        await eventually(lambda: again.heard("report"))
    assert tally.total["runs resumed"] == 1
    assert set(answers(platform, "running")) == {204}


async def test_without_power_a_socket_says_nothing_not_even_goodbye(platform, client, tally):
    outage = Episode(30, 1e9, NO_POWER)
    (usual,) = farm_by(tally, 1, 1, CALM)
    phone = Phone(usual.identity, speech="pc socket", troubles=iter([outage]))
    async with farm_of(client, [phone], tally, line_troubles=lambda phone: iter([outage])) as farm:
        line = await welcomed(platform)
        await eventually(lambda: farm._clock.now() > 60)
        assert not line.socket.closed
        assert len(line.heard("heartbeat")) <= 3


async def test_offers_for_a_phone_in_trouble_are_not_heard(platform, client, tally):
    lost = Fault("no network", every_s=1e-9, lasts_s=(1e9, 1e9), stops_agent=False)
    phones = farm_by(tally, 1, 1, Script(phone_faults=(lost,)))
    async with farm_of(client, phones, tally):
        await welcomed(platform)
        await platform.push(platform.hand_out(serial(phones[0])))
        await eventually(lambda: tally.total["offers not heard"] == 1)
    assert platform.reports == []


async def test_frames_that_nobody_understands_do_no_harm(platform, client, tally):
    phones = farm_by(tally, 1, 1, QUICK)
    async with farm_of(client, phones, tally):
        line = await welcomed(platform)
        await line.socket.send_str("{")
        await line.say(type="a word of next year")
        await line.say(type="error", code="BAD_FRAME", message="no")
        await line.say(type="done", ref=4711)
        work = platform.hand_out(serial(phones[0]))
        await platform.push(work)
        await eventually(lambda: platform.ended.get(work) == "completed")
        assert tally.total["frames not understood"] == 2
        assert tally.total["complaints BAD_FRAME"] == 1


async def test_the_time_from_a_freed_slot_to_the_next_offer_of_its_job_is_measured(platform, client, tally):
    phones = farm_by(tally, 1, 3, QUICK)

    async def work_off(phone: Phone, job_id: str) -> None:
        work = platform.hand_out(serial(phone), job_id=job_id)
        await platform.push(work)
        await eventually(lambda: work in platform.ended)

    async with farm_of(client, phones, tally):
        await welcomed(platform)
        await work_off(phones[0], "J1")
        await work_off(phones[1], "J1")
        assert tally.next_offer.count == 1
        assert tally.next_offer.max_s < 5
        await work_off(phones[2], "J2")  # another job: its slot may have waited for that one to begin
        assert tally.next_offer.count == 1
    assert tally.latencies().keys() == {"final_to_done", "freed_to_next_offer"}


async def test_five_hundred_phones_on_sockets_work_off_a_job_each(platform, client, tally):
    phones = farm_by(tally, 25, 20, QUICK)
    async with farm_of(client, phones, tally):
        await welcomed(platform, 25)
        for phone in phones:
            await platform.push(platform.hand_out(serial(phone)))
        await eventually(lambda: tally.total["completed"] == 500, within_s=60)
    assert {report["answer"] for report in platform.reports} == {204}
    assert all((run.end, run.receipt) == ("completed", "recorded") for run in tally.ledger.runs())
    assert len(tally.ledger.runs()) == len(platform.ended) == 500
    assert device_id(serial(phones[0])) == platform.assignments["assignment-1"]["device_id"]
