"""The simulated nexrender at work: its time is moved by hand, and the client is the real one."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import pairwise

import av
import pytest

from drover.agent.clock import Clock
from drover.render.nexrender.client import Dialect, NexrenderClient, NexrenderDown, NexrenderRefused
from drover.render.nexrender.job import job_document
from drover.render.nexrender.states import Stage
from drover.simulator.nexrender.apis import RealApi
from drover.simulator.nexrender.script import BROKEN_FILE, FAILED, GOOD, SMALL_FILE, STAYS_AT_90, Chance, Script
from drover.simulator.nexrender.server import simulated_nexrender
from drover.simulator.script import Fault
from drover.testing.waiting import eventually
from tests.contract.simplified_nexrender import SimplifiedApi

LONG_S = 300.0
"""No render takes longer, with the times of 003."""


class HandClock(Clock):
    """Time passes when a test advances it."""

    _elapsed_s = 0.0

    def now(self):
        return self._elapsed_s

    def advance(self, seconds):
        self._elapsed_s += seconds


class Studio:
    """A server whose time a test moves, its client, and the folder for its files."""

    def __init__(self, server, client, clock, folder):
        self.server = server
        self.client = client
        self._clock = clock
        self._folder = folder

    def advance(self, seconds):
        self._clock.advance(seconds)
        self.server.catch_up()

    def document(self, number=1):
        return job_document(
            uid=f"drover-{number}-1-0a1b2c3d",
            render_id=number,
            template=r"D:\templates\cyprus design.aep",
            composition="_MAIN Mini Chip Count",
            assets=[],
            output=str(self.film(number)),
        )

    def film(self, number=1):
        return self._folder / f"u{number}" / f"job_{number}.mp4"

    async def submit(self, number=1):
        return await self.client.submit(self.document(number))

    async def submit_many(self, count):
        return [await self.submit(number) for number in range(count)]

    async def find(self, job):
        return await self.client.find(job.uid)

    async def render(self, number=1):
        job = await self.submit(number)
        self.advance(LONG_S)
        return await self.find(job)


@pytest.fixture(params=[Dialect.NEXRENDER, Dialect.SIMPLIFIED])
def dialect(request):
    return request.param


@pytest.fixture
def start(tmp_path, dialect):
    @asynccontextmanager
    async def start(clock=None, **options):
        clock = clock or HandClock()
        api_of = RealApi if dialect is Dialect.NEXRENDER else SimplifiedApi
        async with (
            simulated_nexrender(tmp_path, api_of=api_of, clock=clock, **options) as server,
            NexrenderClient(server.url, dialect=dialect) as client,
        ):
            yield Studio(server, client, clock, tmp_path)

    return start


def always(outcome):
    return Script(chances=(Chance(outcome, 1.0),))


def size_of(path):
    with av.open(str(path)) as film:
        return film.streams.video[0].width, film.streams.video[0].height


async def test_a_job_waits_renders_encodes_and_ends_with_a_film(start):
    async with start() as studio:
        job = await studio.submit()
        seen = []
        while not seen or seen[-1][0] is not Stage.FINISHED:
            now = await studio.find(job)
            assert not studio.film().exists() or now.stage is Stage.FINISHED
            seen.append((now.stage, now.progress or 0))
            studio.advance(1.0)
    stages = list(dict.fromkeys(stage for stage, _ in seen))
    assert stages == [Stage.RENDERING, Stage.ENCODING, Stage.FINISHED]
    progress = list(dict.fromkeys(progress for _, progress in seen))
    assert progress == sorted(progress)
    assert 4 < len(progress) < 50, "it tells progress, and skips values"
    assert size_of(studio.film()) == (1920, 1080)


async def test_some_renders_end_well_at_90(start):
    async with start(machines=40) as studio:
        jobs = await studio.submit_many(40)
        studio.advance(LONG_S)
        ended = [await studio.find(job) for job in jobs]
    assert {job.stage for job in ended} == {Stage.FINISHED}
    assert {job.progress for job in ended} == {90, 100}


async def test_a_machine_renders_one_job_at_a_time_and_the_first_comes_first(start):
    async with start(machines=2) as studio:
        jobs = await studio.submit_many(3)
        studio.advance(5.0)
        states = [(await studio.find(job)).state for job in jobs]
        assert states[2] == "queued"
        assert "queued" not in states[:2]
        assert studio.server.renders_begun == 2
        studio.advance(2 * LONG_S)
        assert [(await studio.find(job)).stage for job in jobs] == [Stage.FINISHED] * 3
    assert all(studio.film(number).exists() for number in range(3))


async def test_nothing_happens_until_time_passes(start):
    async with start() as studio:
        job = await studio.submit()
        assert (await studio.find(job)).state == "queued"
        studio.advance(0.0)
        assert studio.server.renders_begun == 0


@pytest.mark.req("RN-12")
async def test_a_render_that_fails_says_why_and_leaves_no_film(start):
    async with start(script=always(FAILED)) as studio:
        failed = await studio.render()
    assert (failed.stage, failed.error) == (Stage.ERROR, FAILED.error)
    assert not studio.film().exists()


async def test_the_first_renders_end_as_the_script_says(start):
    async with start(script=Script(opening=(GOOD, FAILED)), machines=1) as studio:
        ends = [(await studio.render(number)).stage for number in (1, 2, 3)]
    assert ends == [Stage.FINISHED, Stage.ERROR, Stage.FINISHED]


async def test_progress_that_stops_at_90_says_nothing_about_the_end(start):
    async with start(script=always(STAYS_AT_90)) as studio:
        done = await studio.render()
    assert (done.stage, done.progress) == (Stage.FINISHED, 90)
    assert studio.film().exists()


@pytest.mark.parametrize(("outcome", "is_small"), [(BROKEN_FILE, False), (SMALL_FILE, True)], ids=["broken", "small"])
async def test_a_render_can_be_finished_with_a_file_that_is_no_good(start, outcome, is_small):
    async with start(script=always(outcome)) as studio:
        assert (await studio.render()).stage is Stage.FINISHED
    assert (studio.film().stat().st_size < 100 * 1024) == is_small


async def test_of_many_renders_some_go_wrong_and_always_the_same(start):
    async def fates():
        async with start(script=Script(chances=(Chance(FAILED, 0.3),)), machines=50) as studio:
            jobs = await studio.submit_many(50)
            studio.advance(LONG_S)
            return [(await studio.find(job)).stage for job in jobs]

    first = await fates()
    assert 3 < first.count(Stage.ERROR) < 30
    assert await fates() == first


@pytest.mark.req("RN-08")
async def test_a_render_that_was_removed_while_it_ran_goes_on_and_its_film_still_lands(start):
    async with start() as studio:
        job = await studio.submit()
        studio.advance(10.0)
        await studio.client.remove(job.uid)
        assert await studio.find(job) is None
        studio.advance(LONG_S)
        assert await studio.find(job) is None
    assert studio.film().exists()


async def test_a_job_that_was_removed_before_it_began_is_never_rendered(start):
    async with start() as studio:
        job = await studio.submit()
        await studio.client.remove(job.uid)
        studio.advance(LONG_S)
        assert studio.server.renders_begun == 0
    assert not studio.film().exists()


async def test_a_server_that_forgets_knows_no_job_and_its_renders_go_on(start):
    async with start() as studio:
        job = await studio.submit()
        studio.advance(10.0)
        studio.server.jobs.all.clear()
        assert await studio.find(job) is None
        again = await studio.submit()
        studio.advance(LONG_S)
        assert (await studio.find(again)).stage is Stage.FINISHED
        assert studio.server.renders_begun == 2
    assert studio.film().exists()


@pytest.mark.parametrize("dialect", [Dialect.NEXRENDER])
async def test_the_same_uid_twice_is_rendered_again_and_again(start, dialect):
    async with start() as studio:
        first = await studio.submit()
        await studio.submit()
        studio.advance(20 * LONG_S)
        assert studio.server.renders_begun > 10
        await studio.client.remove(first.uid)
        studio.advance(LONG_S)
        before = studio.server.renders_begun
        studio.advance(20 * LONG_S)
        assert studio.server.renders_begun == before, "until both are removed"


async def test_a_server_that_is_down_does_nothing_that_is_asked_of_it(start):
    always_down = Fault("down", every_s=1e-9, lasts_s=(1e9, 1e9), stops_agent=False)
    async with start(script=Script(outages=(always_down,))) as studio:
        studio.advance(1.0)
        for call in (studio.client.find("a"), studio.submit(), studio.client.health()):
            with pytest.raises(NexrenderDown):
                await call
        assert studio.server.jobs.all == []


async def test_outages_come_by_themselves_and_pass(start):
    outages = (Fault("down", every_s=100.0, lasts_s=(20.0, 20.0), stops_agent=False),)
    async with start(script=Script(outages=outages)) as studio:
        well = []
        for _ in range(600):
            studio.advance(1.0)
            try:
                await studio.client.health()
                well.append(True)
            except NexrenderDown:
                well.append(False)
    assert 20 <= well.count(False) <= 300
    assert sum(one != other for one, other in pairwise(well)) >= 2


async def test_ended_jobs_are_forgotten_before_there_are_too_many(start, monkeypatch):
    monkeypatch.setattr("drover.simulator.nexrender.store.JOBS_MAX", 3)
    async with start(machines=1) as studio:
        first = await studio.render()
        for number in range(2, 5):
            await studio.submit(number)
        assert len(studio.server.jobs.all) == 3
        assert await studio.find(first) is None


async def test_in_real_time_it_lives_by_itself(start):
    quick = Script(render_s=(0.2, 0.4), encode_s=(0.05, 0.1), pickup_s=0.01)
    async with start(clock=Clock(20.0), script=quick) as studio:
        jobs = await studio.submit_many(6)

        async def all_done():
            return {(await studio.find(job)).stage for job in jobs} == {Stage.FINISHED}

        await eventually(all_done)
    assert all(size_of(studio.film(number)) == (1920, 1080) for number in range(6))


async def test_what_is_posted_is_bounded(start):
    async with start() as studio:
        with pytest.raises((NexrenderDown, NexrenderRefused)):
            await studio.client.submit({**studio.document(), "padding": "x" * 5_000_000})
        assert studio.server.jobs.all == []
