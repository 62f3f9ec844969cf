"""The three cases of 001 §6.1, word for word: cron beside the real writer, a log in memory, a virtual time."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Accepted
from drover.cleanup.cron import CleanupCron
from drover.cleanup.schedule import Schedule
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.commands import RegisterUser, StartTest
from drover.eventlog.codec import Codec
from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer

USER = "user_abc123"
ANSWER_S = 10
STEPS_MAX = 10_000


class Office:
    """One user with ten tests, at twenty past twelve."""

    def __init__(self):
        self.clock = VirtualClock()
        self.clock.advance(minutes=20)
        self.log = MemoryLog(Partition("analysis"))
        snapshotter = Snapshotter(ANALYSIS, self.log.partition, MemorySnapshots())
        self.writer = Writer(ANALYSIS, self.log, LocalLease(), snapshotter, instance="test", clock=self.clock)
        self.cron = CleanupCron(self.writer, Schedule("0 * * * *"), {}, self.clock)

    @property
    def state(self):
        return self.writer.state

    @property
    def remaining(self):
        return self.state.users[USER].remaining

    async def submit(self, command):
        outcome = await asyncio.wait_for(self.writer.submit(command, by="test"), ANSWER_S)
        assert isinstance(outcome, Accepted), outcome

    async def start(self, count):
        for number in range(count):
            await self.submit(StartTest(f"00000000-0000-7000-8000-{number:012d}", USER))

    async def cron_runs(self, *, at_minute):
        """Let the clock go on to that minute past one, when cron is due, and let it run to its end."""
        now = self.clock.now()
        self.clock.advance(minutes=60 - now.minute + at_minute)
        runs = len(self.state.runs)
        for _ in range(STEPS_MAX):
            self.cron.look()
            await asyncio.sleep(0)
            done = len(self.state.runs) > runs and self.state.run is None
            if done and self.cron._asking is None:  # answered: it is in the log
                return
        raise AssertionError("no cleanup has run")

    async def events(self):
        last = await self.log.last()
        commits = [await self.log.get(seq) for seq in range(1, last.seq + 1)]
        return [event for commit in commits for event in Codec.of(ANALYSIS).decode(commit.payload)]


@pytest.fixture
async def office():
    office = Office()
    async with office.writer.running():
        await asyncio.wait_for(office.writer.leading.wait(), ANSWER_S)
        await office.submit(RegisterUser(USER, 10))
        yield office


@pytest.mark.req("SY-02", "SY-03", "SY-05")
async def test_case_1_normal_cleanup(office):
    # Given: 35분 전에 시작된 processing 검사 3건
    office.clock.advance(minutes=5)
    await office.start(3)
    before = office.remaining
    # When: Cleanup cron 실행
    await office.cron_runs(at_minute=0)
    # Then: 3건 모두 failed로 변경, 사용자 검사 횟수 +3 복구
    assert [ended.status for ended in office.state.ended.values()] == ["failed"] * 3
    assert office.remaining == before + 3
    assert office.clock.now().hour == 13


@pytest.mark.req("SY-02", "SY-05")
async def test_case_2_tests_within_the_timeout(office):
    # Given: 15분 전에 시작된 processing 검사 2건
    office.clock.advance(minutes=25)
    await office.start(2)
    # When: Cleanup cron 실행
    await office.cron_runs(at_minute=0)
    # Then: 정리되지 않음 (타임아웃 30분 미만)
    assert len(office.state.tests) == 2
    assert office.state.ended == {}
    assert office.remaining == 8


@pytest.mark.req("SY-06", "SY-05")
async def test_case_3_running_it_again(office):
    # Given: 이미 정리된 검사
    office.clock.advance(minutes=5)
    await office.start(1)
    await office.cron_runs(at_minute=0)
    assert office.remaining == 10
    # When: Cleanup cron 재실행
    await office.cron_runs(at_minute=0)
    # Then: 중복 처리되지 않음
    assert office.remaining == 10
    names = [type(event).__name__ for event in await office.events()]
    assert (names.count("TestFailed"), names.count("TestRefunded")) == (1, 1)
    assert names.count("CleanupRunFinished") == 2


@pytest.mark.req("SY-02", "SY-06")
async def test_failing_and_refunding_a_test_is_one_commit(office):
    await office.start(2)
    await office.cron_runs(at_minute=0)
    last = await office.log.last()
    for seq in range(1, last.seq + 1):
        commit = await office.log.get(seq)
        kinds = [type(event).__name__ for event in Codec.of(ANALYSIS).decode(commit.payload)]
        assert kinds.count("TestFailed") == kinds.count("TestRefunded")
