"""Cleanup by the clock: every hour on the hour, by the leader alone, and what was missed is made up for once."""

import asyncio
from datetime import UTC, datetime

import pytest

from drover.bus.messages import Accepted, Rejected
from drover.cleanup.cron import LOOK_EVERY_S, STUCK_AFTER, CleanupCron
from drover.cleanup.options import cleanup_options
from drover.cleanup.schedule import Schedule
from drover.cleanup.settings import CleanupSettings
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis.state import Run
from drover.domain.errors import Code
from drover.service.config import ConfigurationError
from drover.testing.clock import VirtualClock
from drover.testing.scenario import Scenario
from tests.settings import load

HOURLY = "0 * * * *"
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def at(hour, minute=0, second=0, microsecond=0):
    return NOON.replace(hour=hour, minute=minute, second=second, microsecond=microsecond)


@pytest.mark.req("SY-05")
def test_the_moments_of_every_hour():
    schedule = Schedule(HOURLY)
    assert schedule.latest(at(12)) == at(12)
    assert schedule.latest(at(12, 0, 0, 1)) == at(12)
    assert schedule.latest(at(12, 59, 59, 999_999)) == at(12)
    assert schedule.latest(at(13)) == at(13)
    assert schedule.following(at(12)) == at(13)
    assert schedule.following(at(12, 59, 59, 999_999)) == at(13)


@pytest.mark.req("SY-05")
def test_any_expression_of_cron_will_do():
    schedule = Schedule("*/15 9-17 * * MON-FRI")
    assert schedule.latest(at(20)) == at(17, 45)
    assert schedule.following(datetime(2026, 3, 6, 18, tzinfo=UTC)) == datetime(2026, 3, 9, 9, tzinfo=UTC)


@pytest.mark.parametrize("expression", ["* * * *", "61 * * * *", "every hour on the hour", "0 0 30 2 *"])
def test_one_that_never_comes_stops_the_start_and_says_what_to_write(expression):
    with pytest.raises(ConfigurationError, match="DROVER_CLEANUP_CRON='0 "):
        Schedule(expression)


def test_tiers_that_no_cleanup_takes_stop_the_start():
    environ = {
        "DROVER_NATS_URL": "nats://n",
        "DROVER_POSTGRES_URL": "postgresql://p",
        "DROVER_JWT_SECRETS": "s" * 32,
        "DROVER_CLEANUP_TIER_TIMEOUTS_S": "gold=999999",
    }
    with pytest.raises(ConfigurationError, match="DROVER_CLEANUP_TIER_TIMEOUTS_S"):
        cleanup_options(load(environ, CleanupSettings))


class Leader:
    """Stands in for the writer: decides at once, answers when told to."""

    def __init__(self, clock):
        self.clock = clock
        self.leading = asyncio.Event()
        self.leading.set()
        self.scenario = Scenario(ANALYSIS)
        self.asked = []
        self.refuses = None

    @property
    def state(self):
        return self.scenario.state

    def submit(self, command, *, by):
        assert by == "cron"
        self.asked.append(command)
        future = asyncio.get_running_loop().create_future()
        if self.refuses is not None:
            future.set_result(self.refuses)
        else:
            self.scenario.now = self.clock.now()
            self.scenario.when(command)
            future.set_result(Accepted(1, self.scenario.decision.result))
        return future

    @property
    def scheduled(self):
        return [command.scheduled_for for command in self.asked if isinstance(command, c.Cleanup)]


class Hall:
    def __init__(self, expression=HOURLY, now=None):
        self.clock = VirtualClock(now or at(12, 20))
        self.leader = Leader(self.clock)
        self.cron = CleanupCron(self.leader, Schedule(expression), {"timeout_s": 60}, self.clock)

    async def look(self, **passed):
        self.clock.advance(**passed)
        self.cron.look()
        await asyncio.sleep(0)


@pytest.fixture
async def hall():
    hall = Hall()
    await hall.look()
    hall.leader.asked.clear()
    return hall


@pytest.mark.req("SY-05")
async def test_every_hour_on_the_hour_once(hall):
    for _ in range(3 * 60):
        await hall.look(minutes=1)
    assert hall.leader.scheduled == [at(13), at(14), at(15)]
    command = hall.leader.asked[0]
    assert (command.trigger, command.timeout_s) == ("cron", 60)


@pytest.mark.req("SY-05")
async def test_hours_that_nobody_was_there_for_are_made_up_for_once(hall):
    await hall.look(hours=7)
    await hall.look(minutes=1)
    assert hall.leader.scheduled == [at(19)]


@pytest.mark.req("SY-05")
async def test_a_platform_that_never_ran_begins_with_a_cleanup():
    hall = Hall()
    await hall.look()
    assert hall.leader.scheduled == [at(12)]


@pytest.mark.req("SY-05", "SY-06")
async def test_only_the_leader_fires(hall):
    hall.leader.leading.clear()
    await hall.look(hours=1)
    assert hall.leader.asked == []
    hall.leader.leading.set()
    await hall.look()
    assert hall.leader.scheduled == [at(13)]


@pytest.mark.req("SY-05", "SY-06")
async def test_a_new_leader_knows_from_the_log_what_has_run(hall):
    await hall.look(hours=1)
    other = CleanupCron(hall.leader, Schedule(HOURLY), {}, hall.clock)
    other.look()
    assert hall.leader.scheduled == [at(13)]


async def test_while_a_run_is_at_work_it_waits_for_its_end(hall):
    hall.leader.state.run = Run("r", "manual", hall.clock.now(), NOON, {}, True)
    await hall.look(minutes=40)
    assert hall.leader.scheduled == []
    hall.leader.state.run = None
    await hall.look(seconds=5)
    assert hall.leader.scheduled == [at(13)]


@pytest.mark.req("SY-16", "SY-18")
async def test_what_is_refused_is_logged_reported_and_tried_again(hall, logged):
    hall.leader.refuses = Rejected(Code.INTERNAL, "could not decide")
    await hall.look(hours=1)
    assert [line["event"] for line in logged] == ["cleanup-tests: Failed to cleanup tests - INTERNAL: could not decide"]
    assert isinstance(hall.leader.asked[-1], c.ReportCleanupFailed)
    hall.leader.refuses = None
    await hall.look(seconds=5)
    assert hall.leader.scheduled == [at(13), at(13)]
    await hall.look(seconds=5)
    assert hall.leader.scheduled == [at(13), at(13)]


async def test_a_leader_that_is_no_more_reports_nothing(hall, logged):
    hall.leader.refuses = Rejected(Code.NOT_LEADER, "…")
    await hall.look(hours=1)
    assert logged == []


@pytest.mark.req("SY-16")
async def test_a_run_that_does_not_end_is_reported_once(hall, logged):
    hall.leader.state.run = Run("r1", "manual", hall.clock.now(), NOON, {}, True)
    await hall.look(seconds=STUCK_AFTER.total_seconds())
    assert logged == []
    for _ in range(3):
        await hall.look(seconds=1)
    assert [line["event"] for line in logged] == ["cleanup-tests: Failed to cleanup tests - the cleanup r1 is stuck"]
    assert [type(command) for command in hall.leader.asked] == [c.ReportCleanupFailed]


async def test_it_wakes_at_the_moment_itself_and_otherwise_often():
    hall = Hall(now=at(12, 59, 58))
    assert hall.cron._pause_s() == 2
    hall.clock.advance(minutes=-30)
    assert hall.cron._pause_s() == LOOK_EVERY_S


async def test_a_fault_does_not_end_it(hall, logged, monkeypatch):
    looks = []

    def look():
        looks.append(1)
        raise RuntimeError("?")

    monkeypatch.setattr(hall.cron, "look", look)
    monkeypatch.setattr(hall.cron, "_pause_s", lambda: 0)
    async with hall.cron.running():
        while len(looks) < 3:
            await asyncio.sleep(0)
    assert all("Failed to cleanup" in line["event"] for line in logged)
