"""Offers that nobody takes: not fetched within 90 s, or not begun within 60 s of being sent."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import MarkOffline, MarkOnline
from drover.domain.fleet.events import (
    AlertRaised,
    AlertResolved,
    AttemptCreated,
    AttemptFailed,
    DeviceHeld,
    DeviceHoldEnded,
    StaleReportRefused,
    Target,
)
from drover.domain.fleet.state import DeviceStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    J1,
    Work,
    active,
    at,
    begin,
    create,
    farm,
    in_hand,
    phone,
    told,
    work_in_hand,
    work_of,
)

ONE, TWO = Work(D1), Work(D2, number=2)


def offered(events=None, *, target=None):
    """The first phone has an offer; the second keeps the job going."""
    return given(FLEET, *farm(2), *active(target=target), *(events or ONE.offered()), *TWO.running())


@pytest.mark.req("DF-05", "EV-04")
def test_an_offer_that_is_not_fetched_within_90_s_is_taken_back():
    scenario = offered().after(seconds=89).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(
        ONE.withdrawn("unsent"), ONE.cancelled("unsent"), DeviceHeld(D1, at(minutes=5, seconds=90), untaken=1)
    )


@pytest.mark.req("DF-05", "EV-04")
def test_an_offer_that_is_not_begun_within_60_s_of_being_sent_is_taken_back():
    scenario = offered(ONE.sent()).after(seconds=59).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(
        ONE.withdrawn("unacked"), ONE.cancelled("unacked"), DeviceHeld(D1, at(minutes=6), untaken=1)
    )


def test_fetching_gives_a_full_minute_more():
    scenario = offered().after(seconds=80).when(ONE.fetch()).after(seconds=59).ticked().then_nothing()
    scenario.after(seconds=1).ticked()
    assert len(told(scenario, DeviceHeld)) == 1


def test_an_offer_that_was_begun_in_time_stays():
    scenario = offered().after(seconds=89).when(ONE.fetch()).after(seconds=59).when(ONE.runs())
    scenario.after(minutes=10).ticked().then_nothing()


def test_it_is_not_counted_as_an_attempt_nor_as_a_failure_of_the_device():
    scenario = (
        offered(ONE.offered(2))
        .after(seconds=90)
        .ticked()
        .then(ONE.withdrawn("unsent", 2), ONE.parked("unsent"), DeviceHeld)
    )
    assert work_of(scenario, ONE).attempt == 2
    assert phone(scenario, D1).failures == 1  # that of the attempt before
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


def test_a_retry_that_nobody_fetches_goes_on_after_the_hold():
    scenario = offered(ONE.offered(2)).after(seconds=90).ticked()
    scenario.after(minutes=5).ticked().then(DeviceHoldEnded, ONE.created(run=3, attempt=2))


def test_a_named_device_keeps_its_assignment():
    scenario = offered(target=Target(device_ids=(D1, D2))).after(seconds=90).ticked()
    scenario.then(ONE.withdrawn("unsent"), ONE.parked("unsent"), DeviceHeld)
    scenario.after(minutes=5).ticked().then(DeviceHoldEnded, ONE.created(run=2, attempt=1))


def test_the_device_gets_no_offer_for_five_minutes():
    scenario = offered().after(seconds=90).ticked()
    scenario.when(MarkOffline(D1)).when(MarkOnline(D1))
    assert told(scenario, AttemptCreated) == []
    scenario.when(create("11111111-0000-7000-8000-000000000009"))
    assert phone(scenario, D1).assignment is None
    scenario.after(minutes=5, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(DeviceHoldEnded(D1), Work(D1, number=3).created())


def test_another_device_gets_it_where_the_job_is_for_a_number():
    scenario = given(FLEET, *farm(2), *active(target=Target(count=1)), *ONE.offered()).after(seconds=90).ticked()
    assert [made.device_id for made in told(scenario, AttemptCreated)] == [D2]


def untaken(times):
    """The phone lets so many offers pass, one after the other. Gives back how long it was held each time."""
    scenario = given(FLEET, *farm(1)).when(create(J1))
    minutes = []
    for _ in range(times):
        scenario.after(seconds=90).ticked()
        (held,) = told(scenario, DeviceHeld)
        minutes.append((held.until - scenario.now).total_seconds() / 60)
        alerts = told(scenario, AlertRaised)
        scenario.now = held.until
        scenario.ticked()
    return scenario, minutes, alerts


def test_each_time_it_is_held_for_twice_as_long_up_to_a_bound():
    assert untaken(7)[1] == [5, 10, 20, 40, 80, 80, 80]


@pytest.mark.parametrize(("times", "alerts"), [(2, 0), (3, 1), (4, 0)])
def test_the_third_time_in_a_row_raises_an_alert_once(times, alerts):
    assert len(untaken(times)[2]) == alerts


def test_the_alert_names_the_device_and_is_over_when_it_takes_one():
    scenario, _, (alert,) = untaken(3)
    assert (alert.kind, alert.subject) == ("offers_untaken", D1)
    assert alert.details == {"serial_number": "SERIAL0001", "pc_id": "pc1"}
    begin(scenario, D1)
    (resolved,) = told(scenario, AlertResolved)
    assert (resolved.alert_id, resolved.kind, resolved.subject) == (alert.alert_id, "offers_untaken", D1)
    assert scenario.state.alerts == {}


def test_taking_an_offer_begins_a_new_row():
    scenario, _, _ = untaken(2)
    begin(scenario, D1).when(work_in_hand(scenario, D1).fails())
    scenario.after(seconds=5).ticked().after(seconds=90).ticked()
    (held,) = told(scenario, DeviceHeld)
    assert held.untaken == 1


def test_an_end_without_a_beginning_takes_the_offer_too():
    scenario, _, _ = untaken(3)
    work = work_in_hand(scenario, D1)
    scenario.when(work.fetch()).when(work.fails())
    assert len(told(scenario, AlertResolved)) == 1
    assert phone(scenario, D1).untaken == 0


def test_who_comes_too_late_is_told_so():
    scenario = offered(ONE.sent()).after(seconds=60).ticked()
    scenario.when(ONE.runs()).then_rejected(Code.STALE_ATTEMPT, StaleReportRefused)
    scenario.when(ONE.fetch()).then_rejected(Code.CONFLICT)


@pytest.mark.req("DF-05")
def test_no_number_of_untaken_offers_uses_up_an_attempt():
    scenario = given(FLEET, *farm(1), *active(), *ONE.offered(2))
    for _ in range(6):
        scenario.after(seconds=90).ticked()
        assert told(scenario, AttemptFailed) == []
        scenario.now = phone(scenario, D1).held_until
        scenario.ticked()
        assert (in_hand(scenario, D1).assignment_id, in_hand(scenario, D1).attempt) == (ONE.id, 2)
