"""What the service tells of its cleanups: the users' own log lines, word for word, and numbers for Prometheus."""

import asyncio
import io
import logging
import re
from contextlib import asynccontextmanager

import pytest
import structlog
from prometheus_client import REGISTRY

from drover.cleanup import log_lines
from drover.cleanup.audit import Audit
from drover.cleanup.log_lines import USERS_SHOWN_MAX
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.service.logging import configure
from drover.testing.scenario import Scenario
from drover.testing.waiting import eventually

RUN = "11111111-0000-7000-8000-000000000001"


class Leader:
    """A writer as far as the audit needs it, over a log in memory."""

    def __init__(self):
        self.leading = asyncio.Event()
        self.leading.set()
        self.scenario = Scenario(ANALYSIS)
        self.log = MemoryLog(Partition("analysis"))
        self.seq = 0

    @property
    def state(self):
        return self.scenario.state

    async def do(self, *commands):
        for command in commands:
            events = self.scenario.when(command).decision.events
            if events:
                payload = Codec.of(ANALYSIS).encode(events)
                self.seq = await self.log.append(Commit(str(self.seq), 1, payload), self.seq)

    async def stalled(self, user, *numbers):
        await self.do(c.RegisterUser(user, 10))
        for number in numbers:
            await self.do(c.StartTest(f"00000000-0000-7000-8000-{number:012d}", user))


@asynccontextmanager
async def audit(leader):
    told = Audit(leader.log, leader)
    async with told.running():
        yield told


def count(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


@pytest.mark.req("SY-18", "SY-14", "SY-07")
async def test_a_cleanup_is_told_once_with_count_and_user_ids(logged):
    leader = Leader()
    await leader.stalled("user_abc", 1, 2, 3)
    await leader.stalled("user_def", 4, 5)
    leader.scenario.after(minutes=31)
    cleaned = count("drover_cleanup_tests_total", outcome="cleaned")
    runs = count("drover_cleanup_runs_total", result="clean")
    async with audit(leader):
        await leader.do(c.Cleanup(RUN))
        await eventually(lambda: logged)
    (line,) = logged
    assert line["event"] == "cleanup-tests: Cleaned 5 stalled tests for users [user_abc, user_def]"
    assert (line["log_level"], line["cleaned_count"], line["duration_ms"]) == ("info", 5, 0)
    assert count("drover_cleanup_tests_total", outcome="cleaned") == cleaned + 5
    assert count("drover_cleanup_runs_total", result="clean") == runs + 1
    assert count("drover_cleanup_duration_seconds_count") >= 1


@pytest.mark.req("SY-06")
async def test_nothing_to_do_is_told_too(logged):
    leader = Leader()
    async with audit(leader):
        await leader.do(c.Cleanup(RUN))
        await eventually(lambda: logged)
    assert [line["event"] for line in logged] == ["cleanup-tests: No tests to cleanup"]


@pytest.mark.req("SY-06")
async def test_a_skipped_user_is_logged_as_an_error(logged):
    leader = Leader()
    await leader.stalled("user_abc", 1)
    await leader.do(c.ChangeUser("user_abc", frozen=True))
    leader.scenario.after(minutes=31)
    skipped = count("drover_cleanup_tests_total", outcome="skipped")
    async with audit(leader):
        await leader.do(c.Cleanup(RUN))
        await eventually(lambda: len(logged) == 2)
    first, last = logged
    assert first["event"].startswith("cleanup-tests: Skipped test 00000000-") and first["event"].endswith("- frozen")
    assert (first["log_level"], first["user_id"], first["run_id"]) == ("error", "user_abc", RUN)
    assert last["event"] == "cleanup-tests: Cleaned 0 stalled tests for users []"
    assert count("drover_cleanup_tests_total", outcome="skipped") == skipped + 1


async def test_history_is_not_told_again_and_standbys_keep_silent(logged):
    leader = Leader()
    await leader.stalled("user_abc", 1)
    leader.scenario.after(minutes=31)
    await leader.do(c.Cleanup(RUN))
    leader.leading.clear()
    started = count("drover_analysis_tests_total", what="started")
    async with audit(leader) as told:
        await leader.stalled("user_def", 2)
        await leader.do(c.Cleanup("11111111-0000-7000-8000-000000000002", timeout_s=60))
        await eventually(lambda: told.at == leader.seq)
        assert logged == []
        leader.leading.set()
        await leader.do(c.Cleanup("11111111-0000-7000-8000-000000000003", timeout_s=60))
        await eventually(lambda: told.at == leader.seq)
    assert [line["event"] for line in logged] == ["cleanup-tests: No tests to cleanup"]
    assert count("drover_analysis_tests_total", what="started") == started


@pytest.mark.req("SY-14")
async def test_tests_are_counted_by_what_became_of_them():
    leader = Leader()
    test = "00000000-0000-7000-8000-000000000001"
    before = {
        what: count("drover_analysis_tests_total", what=what) for what in ("started", "completed", "failed", "late")
    }
    told = Audit(leader.log, leader)
    for event in (
        e.TestStarted(test, "user_abc"),
        e.TestCompleted(test, "user_abc", None),
        e.TestFailed(test, "user_abc", "worker", None, None, None),
        e.LateReportRefused(test, "user_abc", "failed", "completed", False),
        e.TestCharged(test, "user_abc", 1),
    ):
        told.tell(event)
    for what, number in before.items():
        assert count("drover_analysis_tests_total", what=what) == number + 1


def test_a_line_names_so_many_users_and_counts_the_rest(logged):
    log_lines.cleaned(500, [f"user_{number}" for number in range(USERS_SHOWN_MAX + 7)], 0, 1)
    (line,) = logged
    assert f"user_{USERS_SHOWN_MAX - 1}, … 7 more]" in line["event"]


@pytest.mark.req("SY-18")
def test_the_lines_as_they_come_out(monkeypatch):
    """`[INFO] 2025-01-26T10:00:00Z cleanup-tests: …`: level, time and text, in the order that every line here has."""
    stream, root = io.StringIO(), logging.getLogger()
    before = root.handlers, root.level
    monkeypatch.setattr(log_lines, "log", structlog.get_logger("cleanup-tests"))
    configure("console", "info", stream=stream)
    try:
        log_lines.cleaned(5, ["user_abc", "user_def"], 0, 3)
        log_lines.failed("DB connection timeout")
    finally:
        root.handlers, root.level = before
        structlog.reset_defaults()
    first, second = stream.getvalue().splitlines()
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"
    assert re.match(
        rf"{time} \[info +\] cleanup-tests: Cleaned 5 stalled tests for users \[user_abc, user_def\]", first
    )
    assert re.match(rf"{time} \[error +\] cleanup-tests: Failed to cleanup tests - DB connection timeout", second)
