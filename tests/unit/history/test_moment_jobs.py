"""A moment that is far from every checkpoint is a job: with progress, bounded, cancelled when nobody asks any more."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from drover.domain.fleet.state import DeviceStatus
from drover.history import moment_jobs, travel
from drover.history.moment_jobs import MomentJobs, MomentProgress
from drover.history.travel import Place, TimeTraveller, TooManyTravellers
from drover.testing.scenario import NOON
from drover.testing.waiting import eventually
from tests.unit.history.past import Past, fleet_decider, statuses

pytestmark = pytest.mark.req("YR-09")

FAR = NOON + timedelta(minutes=20)


def failing(fleet, at):
    raise ValueError("a defect")


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
async def past(monkeypatch):
    """No checkpoint, and three events are too many to wait for."""
    monkeypatch.setattr(travel, "STRETCH_EVENTS_MAX", 3)
    past = Past()
    await past.make(8)
    return past


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def jobs(past, clock):
    traveller = TimeTraveller(
        {"fleet": Place(fleet_decider, past.log)}, past.kept, now=lambda: NOON + timedelta(days=1)
    )
    async with MomentJobs(traveller, clock).running() as jobs:
        yield jobs


async def answered(jobs, at, question=statuses):
    """Ask until it is there; return it and the progress that was told on the way."""
    told, found = [], None

    async def there():
        nonlocal found
        found = await jobs.ask("fleet", at, question)
        if isinstance(found, MomentProgress):
            told.append((found.done, found.of))
            return False
        return True

    await eventually(there)
    return msgspec.json.decode(found), told


async def test_a_far_moment_is_computed_piece_by_piece_and_tells_how_far_it_is(jobs):
    assert isinstance(await jobs.ask("fleet", FAR, statuses), MomentProgress)
    found, told = await answered(jobs, FAR)
    assert found == {f"PHONE000{number}": DeviceStatus.ONLINE for number in range(8)}
    assert told == sorted(told), "it goes forward"
    assert all(done <= of for done, of in told)


async def test_it_is_as_it_was_even_between_two_pieces(jobs):
    found, _ = await answered(jobs, NOON + timedelta(seconds=190))
    assert len(found) == 4
    assert found["PHONE0003"] == DeviceStatus.OFFLINE


async def test_the_answer_is_in_memory_afterwards(jobs, past):
    await answered(jobs, FAR)
    asked = past.kept.asked
    assert isinstance(await jobs.ask("fleet", FAR, statuses), bytes)
    assert past.kept.asked == asked


async def test_a_near_moment_is_answered_at_once(jobs, past):
    past.kept.keep(past.fold)
    assert isinstance(await jobs.ask("fleet", FAR, statuses), bytes)


async def test_only_so_many_jobs_run_at_once(jobs, monkeypatch):
    monkeypatch.setattr(moment_jobs, "JOBS_MAX", 1)
    await jobs.ask("fleet", FAR, statuses)
    assert isinstance(await jobs.ask("fleet", FAR, statuses), MomentProgress), "the same job"
    with pytest.raises(TooManyTravellers):
        await jobs.ask("fleet", FAR - timedelta(minutes=10), statuses)
    await answered(jobs, FAR)
    await answered(jobs, FAR - timedelta(minutes=10))


async def test_a_cancelled_job_ends_and_can_be_started_again(jobs):
    await jobs.ask("fleet", FAR, statuses)
    assert await jobs.cancel("fleet", FAR, statuses)
    assert not await jobs.cancel("fleet", FAR, statuses)
    found, _ = await answered(jobs, FAR)
    assert len(found) == 8


async def test_a_job_that_nobody_asks_about_ends(jobs, clock):
    await jobs.ask("fleet", FAR, statuses)
    (job,) = jobs._jobs.values()
    clock.now += moment_jobs.ASKED_WITHIN_S + 1
    await eventually(lambda: job.task.done())
    assert job.task.result() is None
    found, _ = await answered(jobs, FAR)
    assert len(found) == 8, "whoever comes back gets it all the same"


async def test_a_job_that_fails_tells_why_once_and_may_be_tried_again(jobs):
    for _ in range(2):
        assert isinstance(await jobs.ask("fleet", FAR, failing), MomentProgress)
        (job,) = jobs._jobs.values()
        await eventually(lambda job=job: job.task.done())
        with pytest.raises(ValueError, match="a defect"):
            await jobs.ask("fleet", FAR, failing)
