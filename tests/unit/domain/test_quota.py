"""A person who signs up by themselves may cause so many events in a day, and no more; staff and programs are free."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.domain import quota
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis.commands import RegisterUser, StartTest
from drover.domain.errors import Code
from drover.domain.ids import derived_uuid
from drover.domain.reminder import REMINDER
from drover.domain.reminder.commands import AddSubscription, DeletePages, RegisterByPage, Schedule, SetTimezone
from drover.domain.reminder.events import AlarmDeleted
from drover.testing.scenario import NOON, Scenario, given

pytestmark = pytest.mark.req("SE-05")
KIM, LEE = "user_kim", "user_lee"
QUOTA = 10


def as_person(user_id: str = KIM) -> Scenario:
    scenario = given(REMINDER)
    scenario.by = f"user:{user_id}"
    return scenario


def register(page: int = 1, user_id: str = KIM, limit: int | None = QUOTA) -> RegisterByPage:
    return RegisterByPage(f"page-{page}", user_id, "title", "body", limit)


def loop(scenario: Scenario, command, times: int = 100) -> int:
    """How many events this causes."""
    events = 0
    for _ in range(times):
        events += len(scenario.when(command).decision.events)
    return events


@pytest.mark.parametrize(
    "command",
    [
        register(),
        Schedule("page-1", KIM, NOON - timedelta(days=1), QUOTA),
        AddSubscription(KIM, "s1", "webpush", "sealed", QUOTA),
    ],
    ids=lambda command: type(command).__name__,
)
def test_who_loops_is_bounded_until_midnight(command):
    scenario = as_person().when(register())
    assert loop(scenario, command) <= QUOTA
    scenario.when(command).then_rejected(Code.RATE_LIMITED, quota=QUOTA, retry_after_s=12 * 3600)
    scenario.after(hours=12)
    assert 0 < loop(scenario, command) <= QUOTA


def test_each_command_that_records_something_for_a_person_is_counted():
    scenario = as_person()
    loop(scenario, register())
    for command in (
        register(2),
        Schedule("page-1", KIM, NOON + timedelta(days=1), QUOTA),
        SetTimezone(KIM, "Europe/Berlin", quota=QUOTA),
        AddSubscription(KIM, "s1", "webpush", "sealed", QUOTA),
    ):
        scenario.when(command).then_rejected(Code.RATE_LIMITED)


def test_what_a_person_has_can_be_deleted_at_any_time():
    scenario = as_person()
    loop(scenario, register())
    scenario.when(DeletePages(("page-1",), KIM)).then(AlarmDeleted)


def test_others_are_not_held_up():
    scenario = as_person()
    loop(scenario, register())
    scenario.by = f"user:{LEE}"
    assert scenario.when(register(2, LEE)).decision.rejection is None
    scenario.by = "service_role"
    assert scenario.when(register(3, KIM, limit=None)).decision.rejection is None


def test_what_programs_do_for_a_person_does_not_count():
    scenario = given(REMINDER)
    scenario.by = "service_role"
    loop(scenario, register(limit=None))
    scenario.by = f"user:{KIM}"
    assert scenario.when(register(2)).decision.rejection is None


def test_a_snapshot_keeps_the_count():
    scenario = as_person()
    loop(scenario, register())
    scenario.state = REMINDER.from_image(REMINDER.to_image(scenario.state))
    scenario.when(register(2)).then_rejected(Code.RATE_LIMITED)


def test_memory_is_bounded_by_people_and_days(monkeypatch):
    monkeypatch.setattr(quota, "PEOPLE_MAX", 3)
    scenario = given(REMINDER)
    for number in range(10):
        scenario.by = f"user:{number}"
        scenario.when(register(number, str(number)))
    assert len(scenario.state.use.events) == 3
    scenario.after(days=1).when(register(11, "9"))
    assert scenario.state.use.events.keys() == {"9"}, "yesterday is forgotten"


def test_tests_of_a_person_are_counted_too():
    scenario = given(ANALYSIS).when(RegisterUser(KIM, 1000))
    scenario.by = f"user:{KIM}"
    started = 0
    while scenario.when(_start(started)).decision.rejection is None:
        started += 1
    assert started <= QUOTA
    scenario.then_rejected(Code.RATE_LIMITED, quota=QUOTA)


def _start(number: int) -> StartTest:
    return StartTest(derived_uuid("test", str(number)), KIM, QUOTA)


@pytest.mark.control
def test_without_a_quota_a_loop_has_no_end():
    assert loop(as_person(), register(limit=None)) >= 100
