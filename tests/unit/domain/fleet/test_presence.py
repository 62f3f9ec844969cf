"""Heard, not heard for 30 s, not heard for 60 s: what becomes of phones and of what they have in hand."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import (
    ClearCondition,
    DeactivateJob,
    MarkOffline,
    MarkOnline,
    MarkSilent,
    MarkStalled,
    PauseJob,
)
from drover.domain.fleet.events import (
    AttemptFailed,
    AttemptFailedFinal,
    AttemptSucceeded,
    DeviceCameOnline,
    DeviceQuarantined,
    DeviceReleased,
    DeviceWentOffline,
    JobCompleted,
    JobReturned,
    Target,
)
from drover.domain.fleet.state import DeviceStatus, Phase
from drover.testing.scenario import NOON, given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    J1,
    NOBODY,
    Work,
    active,
    at,
    begin,
    farm,
    in_hand,
    pc,
    phone,
    registered,
    told,
    work_of,
)

ONE, TWO = Work(D1), Work(D2, number=2)


def both_run(*, first=1):
    """The second phone keeps the job going, so that only what happens to the first one shows."""
    return given(FLEET, *farm(2), *active(), *ONE.running(first), *TWO.running())


@pytest.mark.req("DF-04")
def test_an_offline_device_that_is_heard_comes_online_once():
    scenario = given(FLEET, pc(), registered(D1)).when(MarkOnline(D1)).then(DeviceCameOnline(D1))
    scenario.when(MarkOnline(D1)).then_nothing()


@pytest.mark.req("DF-04")
def test_an_online_device_that_falls_silent_goes_offline_once():
    scenario = given(FLEET, *farm(1))
    scenario.when(MarkOffline(D1, NOON)).then(DeviceWentOffline(D1, NOON))
    scenario.when(MarkOffline(D1, NOON)).then_nothing()
    scenario.when(MarkSilent(D1, NOON)).then_nothing()


@pytest.mark.parametrize(
    "command", [MarkOnline(NOBODY), MarkOffline(NOBODY), MarkSilent(NOBODY), ClearCondition(NOBODY, "screen_locked")]
)
def test_presence_of_an_unknown_device_is_refused(command):
    given(FLEET, *farm(1)).when(command).then_rejected(Code.NOT_FOUND, device_id=NOBODY)


@pytest.mark.req("DF-04")
def test_a_device_is_busy_while_it_runs_and_online_afterwards():
    scenario = given(FLEET, *farm(1), *active(), *ONE.sent())
    assert phone(scenario, D1).status is DeviceStatus.ONLINE
    scenario.when(ONE.runs())
    assert phone(scenario, D1).status is DeviceStatus.BUSY
    scenario.when(ONE.completes()).then(AttemptSucceeded, JobCompleted)
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


@pytest.mark.req("DF-04")
def test_a_busy_device_that_is_silent_for_30_s_stays_busy():
    scenario = both_run().when(MarkOffline(D1, NOON)).then_nothing()
    assert phone(scenario, D1).status is DeviceStatus.BUSY


@pytest.mark.req("DF-04", "DF-05", "EV-04")
def test_a_busy_device_that_is_silent_for_60_s_loses_its_work_and_is_offline():
    scenario = both_run().when(MarkSilent(D1, NOON)).then(ONE.rolled_back(), DeviceWentOffline(D1, NOON))
    assert phone(scenario, D1).status is DeviceStatus.OFFLINE
    assert work_of(scenario, ONE).phase is Phase.WAITING


@pytest.mark.req("DF-05")
def test_rolled_back_work_goes_on_when_its_device_is_back_with_the_same_attempt_and_the_next_run():
    scenario = both_run(first=2).when(MarkSilent(D1, NOON))
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline(D1), ONE.created(run=3, attempt=2))
    assert work_of(scenario, ONE).progress_pct == 0


@pytest.mark.req("DF-05")
def test_progress_of_a_rolled_back_run_is_gone():
    scenario = both_run().when(ONE.runs(progress_pct=50)).when(MarkSilent(D1, NOON)).when(MarkOnline(D1))
    assert work_of(scenario, ONE).progress_pct == 0


@pytest.mark.req("DF-05", "OQ-09")
def test_the_third_roll_back_of_an_assignment_counts_as_network_lost():
    scenario = both_run()
    for run in (1, 2):
        scenario.when(MarkSilent(D1, NOON)).then(ONE.rolled_back(run, attempt=1), DeviceWentOffline)
        begin(scenario.when(MarkOnline(D1)), D1)
    scenario.when(MarkSilent(D1, NOON)).then(AttemptFailed, ONE.retry(3, attempt=1, due=None), DeviceWentOffline)
    (failed,) = told(scenario, AttemptFailed)
    assert (failed.code, failed.run, failed.attempt, failed.blamed) == ("NETWORK_LOST", 3, 1, True)
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, ONE.created(run=4, attempt=2))


@pytest.mark.req("DF-05")
def test_work_that_is_lost_again_and_again_ends_with_the_third_attempt():
    scenario = both_run()
    for _ in range(4):
        scenario.when(MarkSilent(D1, NOON))
        begin(scenario.when(MarkOnline(D1)), D1)
    scenario.when(MarkSilent(D1, NOON))
    (final,) = told(scenario, AttemptFailedFinal)
    assert (final.code, final.attempt) == ("NETWORK_LOST", 3)
    assert phone(scenario, D1).status is DeviceStatus.ERROR


@pytest.mark.req("DF-04")
@pytest.mark.parametrize("events", [ONE.offered(), ONE.sent()], ids=["offered", "sent"])
def test_an_offer_is_taken_back_from_a_device_that_goes_offline(events):
    scenario = given(FLEET, *farm(2), *active(), *events, *TWO.running())
    scenario.when(MarkOffline(D1, NOON)).then(
        ONE.withdrawn("offline"), ONE.cancelled("offline"), DeviceWentOffline(D1, NOON)
    )


def test_another_device_gets_what_was_taken_back_where_the_job_is_for_a_number():
    scenario = given(FLEET, *farm(2), *active(target=Target(count=1)), *ONE.offered())
    scenario.when(MarkOffline(D1, NOON)).then(
        ONE.withdrawn("offline"), ONE.cancelled("offline"), DeviceWentOffline, TWO.created()
    )


def test_a_device_that_comes_back_gets_a_new_assignment_of_what_was_taken_back():
    scenario = given(FLEET, *farm(2), *active(), *ONE.offered(), *TWO.running()).when(MarkOffline(D1))
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, Work(D1, number=3).created())


def test_an_offer_by_name_is_kept_for_its_device():
    target = Target(device_ids=(D1, D2))
    scenario = given(FLEET, *farm(2), *active(target=target), *ONE.offered(), *TWO.running())
    scenario.when(MarkOffline(D1)).then(ONE.withdrawn("offline"), ONE.parked("offline"), DeviceWentOffline)
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, ONE.created(run=2, attempt=1))


def test_a_device_that_leaves_during_the_delay_before_a_retry_gets_the_retry_when_it_is_back():
    scenario = both_run().when(ONE.fails()).when(MarkOffline(D1)).then(ONE.parked("offline"), DeviceWentOffline)
    scenario.after(minutes=1).ticked().then_nothing()
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline, ONE.created(run=2))


def test_the_work_of_a_silent_device_ends_where_its_job_has_ended():
    scenario = both_run().when(DeactivateJob(J1))
    scenario.when(MarkSilent(D1, NOON)).then(ONE.rolled_back(), ONE.cancelled("job_ended"), DeviceWentOffline)


def test_the_work_of_a_silent_device_waits_where_its_job_is_paused():
    scenario = both_run().when(PauseJob(J1)).when(MarkSilent(D1, NOON)).then(ONE.rolled_back(), DeviceWentOffline)
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline)
    assert work_of(scenario, ONE).phase is Phase.WAITING


def test_a_job_whose_only_device_left_returns_to_the_queue_and_goes_on_when_it_is_back():
    scenario = given(FLEET, *farm(1), *active(), *ONE.running())
    scenario.when(MarkSilent(D1)).then(ONE.rolled_back(), DeviceWentOffline, JobReturned(J1))
    scenario.when(MarkOnline(D1))
    assert in_hand(scenario, D1).run == 2


# Devices in error


def in_error(code="APP_CRASH"):
    """The first phone has failed for good with three attempts of this code."""
    return given(FLEET, *farm(2), *active(), *ONE.running(3, after=code), *TWO.running()).when(ONE.fails(code, 3))


@pytest.mark.req("DF-04")
def test_a_heartbeat_alone_never_lifts_an_error():
    scenario = in_error().when(MarkOffline(D1)).then(DeviceWentOffline)
    scenario.when(MarkOnline(D1)).then(DeviceCameOnline(D1))
    assert phone(scenario, D1).status is DeviceStatus.ERROR


@pytest.mark.req("DF-04")
@pytest.mark.parametrize(("code", "minutes"), [("APP_CRASH", 30), ("E1002", 60)])
def test_an_error_ends_when_its_time_is_over_and_the_device_is_online_if_it_is_heard(code, minutes):
    scenario = in_error(code)
    scenario.when(TWO.completes())  # before its own time is over
    assert phone(scenario, D1).status is DeviceStatus.ERROR
    scenario.after(minutes=minutes, seconds=-1).ticked()
    assert phone(scenario, D1).status is DeviceStatus.ERROR
    scenario.after(seconds=1).ticked().then(DeviceReleased(D1, "time"))
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


@pytest.mark.req("DF-04")
def test_an_error_ends_when_its_time_is_over_and_the_device_is_offline_if_it_is_not_heard():
    scenario = in_error().when(TWO.completes()).when(MarkOffline(D1)).after(minutes=30).ticked()
    assert phone(scenario, D1).status is DeviceStatus.OFFLINE


@pytest.mark.req("DF-22")
@pytest.mark.parametrize(("code", "condition"), [("E3003", "screen_locked"), ("E3004", "battery_low")])
def test_a_locked_or_empty_device_works_again_when_it_says_so_and_not_before(code, condition):
    scenario = both_run().when(ONE.fails(code))
    (quarantined,) = told(scenario, DeviceQuarantined)
    assert (quarantined.device_id, quarantined.until, quarantined.condition) == (D1, None, condition)
    scenario.after(hours=2)
    scenario.when(ClearCondition(D1, "something_else")).then_nothing()
    scenario.when(ClearCondition(D1, condition))
    assert told(scenario, DeviceReleased)[0].reason == "condition"
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


@pytest.mark.req("DF-22")
def test_a_locked_device_goes_on_with_its_retry_once_it_is_unlocked():
    scenario = both_run().when(ONE.fails("E3003"))
    scenario.when(ClearCondition(D1, "screen_locked")).then(DeviceReleased, ONE.created(run=2))


def test_a_healthy_device_that_says_it_is_unlocked_changes_nothing():
    given(FLEET, *farm(1)).when(ClearCondition(D1, "screen_locked")).then_nothing()


# Alive, without progress


@pytest.mark.req("DF-18", "DF-22")
def test_a_stall_counts_an_attempt_and_is_retried():
    scenario = both_run().when(MarkStalled(ONE.id, 1)).then(AttemptFailed, ONE.retry(due=at(seconds=5)))
    (failed,) = told(scenario, AttemptFailed)
    assert (failed.code, failed.rule, failed.blamed) == ("PLAYBACK_STALLED", "PLAYBACK_STALLED", True)


@pytest.mark.req("DF-18")
@pytest.mark.parametrize(
    ("events", "run"),
    [(ONE.running(2), 1), (ONE.running(), 2), (ONE.sent(), 1)],
    ids=["of a past run", "of a run to come", "not begun"],
)
def test_a_stall_of_anything_but_the_current_run_changes_nothing(events, run):
    given(FLEET, *farm(2), *active(), *events, *TWO.running()).when(MarkStalled(ONE.id, run)).then_nothing()


@pytest.mark.req("DF-18")
def test_a_stall_of_work_that_is_over_changes_nothing():
    both_run().when(ONE.completes()).when(MarkStalled(ONE.id, 1)).then_nothing()
