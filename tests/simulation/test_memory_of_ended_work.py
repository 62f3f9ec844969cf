"""A state holds its open work and a window of what ended: ten times as much ended work does not make it larger."""

from __future__ import annotations

import msgspec
import pytest

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import evolution as analysis_evolution
from drover.domain.analysis.commands import Cleanup, CompleteTest, StartTest
from drover.domain.decider import Decider
from drover.domain.fleet import FLEET, evolve_past
from drover.domain.fleet.commands import CreateJob, DeactivateJob, PauseJob, ReportCompleted, ResumeJob
from drover.domain.identity import IDENTITY
from drover.domain.identity import sessions as identity_sessions
from drover.domain.identity.commands import RotateRefresh
from drover.domain.reminder import REMINDER
from drover.domain.reminder import evolution as reminder_evolution
from drover.domain.reminder.commands import DeletePages, RegisterByPage
from drover.domain.render import RENDER
from drover.domain.render import commands as c
from drover.domain.render import evolution as render_evolution
from drover.testing.scenario import Scenario
from tests.unit.domain.analysis.world import ANN, numbered, registered, run_id
from tests.unit.domain.fleet.world import begin, device_id, farm, job_id, work_in_hand
from tests.unit.domain.identity.world import IDLE_S, created, session_id, start, token
from tests.unit.domain.render.world import request

FACTOR_MAX = 1.3
PHONES = 3
URL = "https://youtu.be/abc"


def image_bytes(scenario: Scenario) -> int:
    decider: Decider = scenario.decider
    return len(msgspec.msgpack.encode(decider.to_image(scenario.state)))


def assert_ten_times_is_no_larger(work, *, count: int) -> None:
    """Do so much work, and ten times as much, and compare the states."""
    once, often = image_bytes(work(count)), image_bytes(work(10 * count))
    assert often <= FACTOR_MAX * once, f"{once} bytes after {count}, {often} after {10 * count}"


@pytest.fixture
def small_fleet_window(monkeypatch):
    monkeypatch.setattr(evolve_past, "PAST_JOBS_MAX", 20)
    monkeypatch.setattr(evolve_past, "PAST_ASSIGNMENTS_MAX", 50)
    monkeypatch.setattr(evolve_past, "TAKEN_BACK_MAX", 20)


def completed_jobs(count: int) -> Scenario:
    """A minute for each job, and an open one in the end."""
    scenario = Scenario(FLEET).given(*farm(PHONES))
    for number in range(1, count + 1):
        scenario.when(CreateJob(job_id=job_id(number), target_url=URL))
        for phone in range(1, PHONES + 1):
            begin(scenario, device_id(phone))
            assignment = work_in_hand(scenario, device_id(phone))
            scenario.when(ReportCompleted(assignment.id, 1, progress_pct=100, actual_duration_sec=60))
        scenario.after(minutes=1).ticked()
    return scenario.when(CreateJob(job_id=job_id(0), target_url=URL))


def deactivated_jobs(count: int) -> Scenario:
    scenario = Scenario(FLEET).given(*farm(PHONES))
    for number in range(1, count + 1):
        scenario.when(CreateJob(job_id=job_id(number), target_url=URL)).when(DeactivateJob(job_id(number)))
        scenario.after(minutes=1).ticked()
    return scenario


def offers_taken_back(count: int) -> Scenario:
    """One job, paused and resumed again and again: each time its offers are taken back, and made again."""
    scenario = Scenario(FLEET).given(*farm(PHONES)).when(CreateJob(job_id=job_id(1), target_url=URL))
    for _ in range(count):
        scenario.after(seconds=10).when(PauseJob(job_id(1))).ticked().when(ResumeJob(job_id(1))).ticked()
    return scenario


def completed_renders(count: int) -> Scenario:
    scenario = Scenario(RENDER)
    for number in range(1, count + 1):
        scenario.when(request()).when(c.ClaimRender(number, "worker"))
        scenario.when(c.ReportWork(number, "completed", output_file_path="/x.mp4")).after(minutes=1).ticked()
    return scenario.when(request())


def failed_renders(count: int) -> Scenario:
    scenario = Scenario(RENDER)
    for number in range(1, count + 1):
        scenario.when(request()).when(c.ClaimRender(number, "worker"))
        scenario.when(c.ReportWork(number, "failed", message="no")).after(minutes=1).ticked()
    return scenario.when(request())


def completed_tests(count: int) -> Scenario:
    scenario = Scenario(ANALYSIS).given(registered(tests=1_000_000))
    for number in range(1, count + 1):
        scenario.when(StartTest(numbered(number), ANN)).when(CompleteTest(numbered(number))).after(minutes=1).ticked()
    return scenario.when(StartTest(numbered(0), ANN))


def cleanups(count: int) -> Scenario:
    """Each cleans one test of a user of its own."""
    scenario = Scenario(ANALYSIS).given(*(registered(f"user_{number}") for number in range(25)))
    for number in range(count):
        scenario.when(StartTest(numbered(number), f"user_{number % 25}"))
        scenario.after(hours=2).when(Cleanup(run_id(number))).ticked()
    return scenario


def deleted_alarms(count: int) -> Scenario:
    scenario = Scenario(REMINDER)
    for number in range(count):
        scenario.when(RegisterByPage(f"page-{number}", "user_1", "title", "body"))
        scenario.after(minutes=1).when(DeletePages((f"page-{number}",), "user_1"))
    return scenario.when(RegisterByPage("page", "user_1", "title", "body"))


def ended_sessions(count: int) -> Scenario:
    """Ten minutes for each session. Each is ended by a token that was used twice."""
    scenario = Scenario(IDENTITY).given(created())
    for number in range(count):
        session = session_id(number)
        scenario.when(start(session)).when(RotateRefresh(session, token(0, session), token(1, session), IDLE_S))
        scenario.after(minutes=10).when(RotateRefresh(session, token(0, session), token(2, session), IDLE_S)).ticked()
    return scenario.when(start(session_id(count)))


FLEET_WORK = [completed_jobs, deactivated_jobs, offers_taken_back]


@pytest.mark.req("YR-10", "YR-04")
@pytest.mark.parametrize("work", FLEET_WORK)
def test_the_fleet_does_not_grow_with_ended_work(work, small_fleet_window):
    assert_ten_times_is_no_larger(work, count=60)


@pytest.mark.parametrize("work", FLEET_WORK)
def test_without_its_window_the_fleet_would_grow(work):
    with pytest.raises(AssertionError, match=r"bytes after"):
        assert_ten_times_is_no_larger(work, count=30)


RENDERS = [completed_renders, failed_renders]


@pytest.mark.req("YR-10", "YR-04")
@pytest.mark.parametrize("work", RENDERS)
def test_the_render_queue_does_not_grow_with_ended_renders(work, monkeypatch):
    monkeypatch.setattr(render_evolution, "PAST_RENDERS_MAX", 20)
    assert_ten_times_is_no_larger(work, count=60)


@pytest.mark.parametrize("work", RENDERS)
def test_without_its_window_the_render_queue_would_grow(work):
    with pytest.raises(AssertionError, match=r"bytes after"):
        assert_ten_times_is_no_larger(work, count=60)


@pytest.mark.req("YR-10", "YR-04")
def test_analyses_do_not_grow_with_ended_tests(monkeypatch):
    monkeypatch.setattr(analysis_evolution, "PAST_TESTS_MAX", 20)
    assert_ten_times_is_no_larger(completed_tests, count=60)


def test_without_their_window_analyses_would_grow():
    with pytest.raises(AssertionError, match=r"bytes after"):
        assert_ten_times_is_no_larger(completed_tests, count=60)


@pytest.mark.req("YR-10", "YR-04")
def test_analyses_do_not_grow_with_cleanups(monkeypatch):
    monkeypatch.setattr(analysis_evolution, "RUNS_USERS_MAX", 10)
    assert_ten_times_is_no_larger(cleanups, count=60)


def test_without_its_bound_the_memory_of_cleanups_would_grow(monkeypatch):
    monkeypatch.setattr(analysis_evolution, "RUNS_REMEMBERED_MAX", 1_000_000)
    with pytest.raises(AssertionError, match=r"bytes after"):
        assert_ten_times_is_no_larger(cleanups, count=60)


@pytest.mark.req("YR-10", "YR-04")
def test_reminders_do_not_grow_with_deleted_pages(monkeypatch):
    monkeypatch.setattr(reminder_evolution, "KEYS_REMEMBERED_MAX", 20)
    assert_ten_times_is_no_larger(deleted_alarms, count=60)


def test_without_their_window_reminders_would_grow():
    with pytest.raises(AssertionError, match=r"bytes after"):
        assert_ten_times_is_no_larger(deleted_alarms, count=60)


@pytest.mark.req("YR-10", "YR-04")
def test_identity_does_not_grow_with_ended_sessions(monkeypatch):
    monkeypatch.setattr(identity_sessions, "ALERTS_MAX", 20)
    assert_ten_times_is_no_larger(ended_sessions, count=60)


def test_without_its_bound_of_alerts_identity_would_grow():
    with pytest.raises(AssertionError, match=r"bytes after"):
        assert_ten_times_is_no_larger(ended_sessions, count=30)
