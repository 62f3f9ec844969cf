"""The simulated nexrender at work: its time is moved by hand, and the client is the real one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise

import av
import pytest

from drover.render.nexrender.client import Dialect, NexrenderClient, NexrenderDown, NexrenderRefused
from drover.render.nexrender.job import job_document
from drover.render.nexrender.states import Stage, is_template_missing
from drover.simulator.clock import Clock
from drover.simulator.nexrender import script as s
from drover.simulator.nexrender.clock import HandClock
from drover.simulator.nexrender.server import simulated_nexrender
from drover.testing.waiting import eventually

TEMPLATE = r"D:\templates\cyprus design.aep"
LONG_S = 300.0
"""No render takes longer, with the times of 003."""


@pytest.fixture(params=["nexrender", "simplified"])
def dialect(request):
    return request.param


@pytest.fixture
def start(tmp_path, dialect):
    """A server and its client."""

    @asynccontextmanager
    async def start(**options):
        options = {"clock": HandClock(), "seen_as": "D:/output", "dialect": dialect, **options}
        async with (
            simulated_nexrender(tmp_path, **options) as server,
            NexrenderClient(server.url, dialect=Dialect(options["dialect"])) as client,
        ):
            yield server, client

    return start


def document(number=1, **changes):
    values = {
        "uid": f"drover-{number}-1-0a1b2c3d",
        "render_id": number,
        "template": TEMPLATE,
        "composition": "_MAIN Mini Chip Count",
        "assets": [],
        "output": f"D:/output/u{number}/job_{number}.mp4",
    }
    return job_document(**{**values, **changes})


def landed(tmp_path, number=1):
    return tmp_path / f"u{number}" / f"job_{number}.mp4"


def size_of(path):
    with av.open(str(path)) as film:
        return film.streams.video[0].width, film.streams.video[0].height


async def render(server, client, number=1, **changes):
    job = await client.submit(document(number, **changes))
    server.advance(LONG_S)
    return await client.find(job.uid)


async def test_a_job_waits_renders_encodes_and_ends_with_a_film(start, tmp_path):
    async with start() as (server, client):
        job = await client.submit(document())
        seen = []
        while not seen or seen[-1][0] is not Stage.FINISHED:
            now = await client.find(job.uid)
            assert not landed(tmp_path).exists() or now.stage is Stage.FINISHED
            seen.append((now.stage, now.progress or 0))
            server.advance(1.0)
    stages = list(dict.fromkeys(stage for stage, _ in seen))
    assert stages == [Stage.RENDERING, Stage.ENCODING, Stage.FINISHED]
    progress = list(dict.fromkeys(progress for _, progress in seen))
    assert progress == sorted(progress)
    assert 4 < len(progress) < 50, "it tells progress, and skips values"
    assert size_of(landed(tmp_path)) == (1920, 1080)


async def test_some_renders_end_well_at_90(start):
    async with start(machines=40) as (server, client):
        jobs = [await client.submit(document(number)) for number in range(40)]
        server.advance(LONG_S)
        ended = [await client.find(job.uid) for job in jobs]
    assert {job.stage for job in ended} == {Stage.FINISHED}
    assert {job.progress for job in ended} == {90, 100}


async def test_a_machine_renders_one_job_at_a_time_and_the_first_comes_first(start, tmp_path):
    async with start(machines=2) as (server, client):
        jobs = [await client.submit(document(number)) for number in (1, 2, 3)]
        server.advance(5.0)
        states = [(await client.find(job.uid)).state for job in jobs]
        assert states[2] == "queued"
        assert "queued" not in states[:2]
        assert server.renders_begun == 2
        server.advance(2 * LONG_S)
        assert [(await client.find(job.uid)).stage for job in jobs] == [Stage.FINISHED] * 3
    assert all(landed(tmp_path, number).exists() for number in (1, 2, 3))


async def test_nothing_happens_until_time_passes(start):
    async with start() as (server, client):
        job = await client.submit(document())
        assert (await client.find(job.uid)).state == "queued"
        server.advance(0.0)
        assert server.renders_begun == 0


@pytest.mark.req("RN-12")
async def test_a_render_that_fails_says_why_and_leaves_no_film(start, tmp_path):
    async with start() as (server, client):
        server.expect(s.FAILED, s.TEMPLATE_MISSING, s.GOOD)
        failed = await render(server, client)
        assert (failed.stage, failed.error) == (Stage.ERROR, s.FAILED.error)
        missing = await render(server, client, 2)
        assert missing.stage is Stage.ERROR
        assert is_template_missing(missing.error, TEMPLATE)
        assert (await render(server, client, 3)).stage is Stage.FINISHED
    assert [landed(tmp_path, number).exists() for number in (1, 2, 3)] == [False, False, True]


async def test_a_render_that_is_stuck_stands_still_for_ever_and_others_go_on(start, tmp_path):
    async with start(machines=1) as (server, client):
        server.expect(s.STUCK)
        job = await client.submit(document())
        server.advance(LONG_S)
        first = await client.find(job.uid)
        assert first.stage is Stage.RENDERING
        assert 0 < first.progress <= 40
        assert (await render(server, client, 2)).stage is Stage.FINISHED
        server.advance(100 * LONG_S)
        assert await client.find(job.uid) == first
    assert not landed(tmp_path).exists()


async def test_progress_that_stops_at_90_says_nothing_about_the_end(start, tmp_path):
    async with start() as (server, client):
        server.expect(s.STAYS_AT_90)
        done = await render(server, client)
    assert (done.stage, done.progress) == (Stage.FINISHED, 90)
    assert landed(tmp_path).exists()


@pytest.mark.parametrize(
    ("outcome", "look"),
    [
        (s.BROKEN_FILE, lambda path: path.stat().st_size > 100 * 1024),
        (s.SMALL_FILE, lambda path: path.stat().st_size < 100 * 1024),
        (s.WRONG_SIZE, lambda path: size_of(path) == (1280, 720)),
        (s.NO_VIDEO, lambda path: not av.open(str(path)).streams.video),
        (s.NO_FILE, lambda path: not path.exists()),
    ],
    ids=lambda value: value.name if isinstance(value, s.Outcome) else "",
)
async def test_a_render_can_be_finished_with_a_file_that_is_no_good(start, tmp_path, outcome, look):
    async with start() as (server, client):
        server.expect(outcome)
        assert (await render(server, client)).stage is Stage.FINISHED
    assert look(landed(tmp_path))


async def test_compositions_have_their_sizes_and_their_fates(start, tmp_path):
    script = s.Script(
        sizes={"Ticker": (1280, 720)},
        rules=(s.Rule("Cursed", s.FAILED), s.Rule("gone.aep", s.TEMPLATE_MISSING)),
    )
    async with start(script=script) as (server, client):
        await render(server, client, 1, composition="Ticker")
        assert size_of(landed(tmp_path)) == (1280, 720)
        assert (await render(server, client, 2, composition="Cursed")).error == s.FAILED.error
        assert "gone.aep" in (await render(server, client, 3, template="D:/gone.aep")).error


async def test_of_many_renders_some_go_wrong_and_always_the_same(start):
    script = s.Script(chances=(s.Chance(s.FAILED, 0.3),))

    async def fates():
        async with start(script=script, machines=50) as (server, client):
            jobs = [await client.submit(document(number)) for number in range(50)]
            server.advance(LONG_S)
            return [(await client.find(job.uid)).stage for job in jobs]

    first = await fates()
    assert 3 < first.count(Stage.ERROR) < 30
    assert await fates() == first


@pytest.mark.req("RN-08")
async def test_a_render_that_was_removed_while_it_ran_goes_on_and_its_film_still_lands(start, tmp_path):
    async with start() as (server, client):
        job = await client.submit(document())
        server.advance(10.0)
        await client.remove(job.uid)
        assert await client.find(job.uid) is None
        server.advance(LONG_S)
        assert await client.find(job.uid) is None
    assert landed(tmp_path).exists()


async def test_a_job_that_was_removed_before_it_began_is_never_rendered(start, tmp_path):
    async with start() as (server, client):
        job = await client.submit(document())
        await client.remove(job.uid)
        server.advance(LONG_S)
        assert server.renders_begun == 0
    assert not landed(tmp_path).exists()


async def test_a_server_that_forgets_knows_no_job_and_its_renders_go_on(start, tmp_path):
    async with start() as (server, client):
        job = await client.submit(document())
        server.advance(10.0)
        server.forget()
        assert await client.find(job.uid) is None
        again = await client.submit(document())
        server.advance(LONG_S)
        assert (await client.find(again.uid)).stage is Stage.FINISHED
        assert server.renders_begun == 2
    assert landed(tmp_path).exists()


@pytest.mark.parametrize("dialect", ["nexrender"])
async def test_the_same_uid_twice_is_rendered_again_and_again(start, dialect):
    async with start() as (server, client):
        await client.submit(document())
        await client.submit(document())
        server.advance(20 * LONG_S)
        assert server.renders_begun > 10
        await client.remove(document()["uid"])
        server.advance(LONG_S)
        before = server.renders_begun
        server.advance(20 * LONG_S)
        assert server.renders_begun == before, "until both are removed"


@pytest.mark.parametrize("kind", ["down", "error", "html"])
async def test_a_server_in_trouble_does_nothing_that_is_asked_of_it(start, kind):
    async with start() as (server, client):
        server.troubles = [s.Trouble(kind)]
        for call in (client.find("a"), client.submit(document()), client.health()):
            with pytest.raises(NexrenderDown):
                await call
        server.troubles.clear()
        assert server.jobs.all == []
        assert await client.find("a") is None


async def test_an_answer_can_be_lost_after_the_job_was_taken(start):
    async with start() as (server, client):
        server.troubles = [s.Trouble("lost_answer", methods=frozenset({"POST"}), times=1)]
        with pytest.raises(NexrenderDown):
            await client.submit(document())
        assert len(server.jobs.all) == 1
        assert (await client.find(document()["uid"])).state == "queued"
        await client.submit(document(2))
        assert server.calls["POST jobs"] == 2


async def test_a_trouble_is_over_when_it_is_used_up_and_concerns_what_it_names(start):
    async with start() as (server, client):
        server.troubles = [s.Trouble("error", methods=frozenset({"GET"}), times=2)]
        await client.submit(document())
        for _ in range(2):
            with pytest.raises(NexrenderDown):
                await client.find(document()["uid"])
        assert await client.find(document()["uid"]) is not None
        assert server.troubles == []


async def test_a_server_can_be_slow_or_never_answer(start):
    async with start() as (server, client):
        server.troubles = [s.Trouble("slow", slow_s=0.001)]
        assert await client.find("a") is None
        server.troubles = [s.Trouble("silent")]
        async with NexrenderClient(server.url, total_s=0.05) as impatient:
            with pytest.raises(NexrenderDown):
                await impatient.find("a")


async def test_outages_come_by_themselves_and_pass(start):
    outages = (s.Outage("error", every_s=100.0, lasts_s=(20.0, 20.0)),)
    async with start(script=s.Script(outages=outages)) as (server, client):
        well = []
        for _ in range(600):
            server.advance(1.0)
            try:
                await client.health()
                well.append(True)
            except NexrenderDown:
                well.append(False)
    assert 20 <= well.count(False) <= 300
    assert sum(one != other for one, other in pairwise(well)) >= 2


async def test_a_database_can_be_lost_by_itself(start):
    outages = (s.Outage("forgets", every_s=10.0, lasts_s=(1.0, 1.0)),)
    async with start(script=s.Script(outages=outages), machines=0) as (server, client):
        await client.submit(document())
        server.advance(1000.0)
        assert await client.find(document()["uid"]) is None


async def test_ended_jobs_are_forgotten_before_there_are_too_many(start, monkeypatch):
    monkeypatch.setattr("drover.simulator.nexrender.store.JOBS_MAX", 3)
    async with start(machines=1) as (server, client):
        first = await render(server, client, 1)
        for number in range(2, 5):
            await client.submit(document(number))
        assert len(server.jobs.all) == 3
        assert await client.find(first.uid) is None


async def test_in_real_time_it_lives_by_itself(start, tmp_path):
    async with start(clock=Clock(20.0), script=s.QUICK) as (server, client):
        jobs = [await client.submit(document(number)) for number in range(6)]

        async def all_done():
            return {(await client.find(job.uid)).stage for job in jobs} == {Stage.FINISHED}

        await eventually(all_done)
    assert all(size_of(landed(tmp_path, number)) == (1920, 1080) for number in range(6))
    assert server.life.cancelled()


async def test_it_stops_although_somebody_waits_for_an_answer(start):
    async with start() as (server, client):
        server.troubles = [s.Trouble("silent")]
        waiting = asyncio.create_task(client.find("a"))
        await eventually(lambda: server.calls["GET jobs/…"])
    with pytest.raises(NexrenderDown):
        await waiting


async def test_what_is_posted_is_bounded(start):
    async with start() as (server, client):
        with pytest.raises((NexrenderDown, NexrenderRefused)):
            await client.submit({**document(), "padding": "x" * 5_000_000})
        assert server.jobs.all == []
