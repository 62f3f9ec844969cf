"""People acknowledge and snooze alerts. The rules are the same in every context; here they are tried in the fleet, and
that every context has them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from drover.domain.alert_handling import NOTE_CHARS_MAX, SNOOZE_MAX, AcknowledgeAlert, EndSnooze, SnoozeAlert
from drover.domain.alerts import (
    AlertAcknowledged,
    AlertRaised,
    AlertResolved,
    AlertSnoozed,
    AlertSnoozeEnded,
)
from drover.domain.deciders import DECIDERS
from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ReportThrottled
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import D1, at, farm, told

pytestmark = pytest.mark.req("DF-19")

KIND = "rate_limited"


def alerted():
    """A farm with an alert that lasts five minutes, and the alert's id."""
    scenario = given(FLEET, *farm(1)).when(ReportThrottled(D1))
    return scenario, told(scenario, AlertRaised)[0].alert_id


def test_an_acknowledgement_is_recorded_with_its_note_and_changes_nothing():
    scenario, alert = alerted()
    before = dict(scenario.state.alerts)
    scenario.when(AcknowledgeAlert(alert, note="mine")).then(AlertAcknowledged(alert, KIND, D1, note="mine"))
    assert scenario.state.alerts == before
    scenario.when(AcknowledgeAlert(alert)).then(AlertAcknowledged(alert, KIND, D1))


def test_a_snooze_ends_at_its_time_and_says_whether_the_alert_is_open():
    scenario, alert = alerted()
    until = at(minutes=2)
    scenario.when(SnoozeAlert(alert, until, note="later")).then(AlertSnoozed(alert, KIND, D1, until, note="later"))
    scenario.after(minutes=2, seconds=-1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(AlertSnoozeEnded(alert, KIND, D1, "time", is_open=True))
    scenario.after(minutes=3).ticked().then(AlertResolved)
    assert scenario.state.alerts == {}


def test_what_is_raised_again_during_a_snooze_says_so():
    scenario, first = alerted()
    until = at(minutes=20)
    scenario.when(SnoozeAlert(first, until)).after(minutes=5).ticked().then(AlertResolved)
    (again,) = told(scenario.when(ReportThrottled(D1)), AlertRaised)
    assert (again.alert_id != first, again.snoozed_until) == (True, until)
    scenario.after(minutes=15).ticked()
    (ended,) = told(scenario, AlertSnoozeEnded)
    assert (ended.alert_id, ended.reason, ended.is_open) == (first, "time", False), "the second alert is over, too"
    (later,) = told(scenario.when(ReportThrottled(D1)), AlertRaised)
    assert later.snoozed_until is None


def test_a_later_snooze_replaces_the_one_before_and_a_person_can_end_it():
    scenario, alert = alerted()
    scenario.when(SnoozeAlert(alert, at(minutes=1))).when(SnoozeAlert(alert, at(minutes=3)))
    scenario.after(minutes=1).ticked().then_nothing()
    scenario.when(EndSnooze(alert)).then(AlertSnoozeEnded(alert, KIND, D1, "person", is_open=True))
    scenario.when(EndSnooze(alert)).then_nothing()
    scenario.after(minutes=2).ticked().then_nothing()


FIRST = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
LAST = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14)))


@pytest.mark.parametrize("until", [at(), at(seconds=-1), at() + SNOOZE_MAX + timedelta(seconds=1), FIRST, LAST])
def test_a_snooze_is_in_the_future_and_not_for_ever(until):
    scenario, alert = alerted()
    scenario.when(SnoozeAlert(alert, until)).then_rejected(Code.VALIDATION_ERROR)


def test_what_is_not_open_is_refused():
    scenario, alert = alerted()
    scenario.after(minutes=5).ticked().then(AlertResolved)
    for command in (AcknowledgeAlert(alert), SnoozeAlert(alert, at(minutes=9)), EndSnooze(alert)):
        scenario.when(command).then_rejected(Code.NOT_FOUND)


def test_a_note_has_a_bound():
    scenario, alert = alerted()
    scenario.when(AcknowledgeAlert(alert, note="x" * (NOTE_CHARS_MAX + 1))).then_rejected(Code.VALIDATION_ERROR)


def test_a_snooze_is_no_alert():
    scenario, alert = alerted()
    scenario.when(SnoozeAlert(alert, at(minutes=2)))
    assert scenario.state.alerts == {f"{KIND}:{D1}": alert}


@pytest.mark.parametrize("context", DECIDERS)
def test_every_context_has_the_rules(context):
    scenario = given(DECIDERS[context])
    raised = AlertRaised("a", "some_kind", "some:subject", "Text", {})
    scenario = given(DECIDERS[context], raised)
    until = scenario.now + timedelta(minutes=1)
    scenario.when(AcknowledgeAlert("a")).then(AlertAcknowledged("a", "some_kind", "some:subject"))
    scenario.when(SnoozeAlert("a", until)).then(AlertSnoozed("a", "some_kind", "some:subject", until))
    scenario.after(minutes=1).ticked().then(AlertSnoozeEnded("a", "some_kind", "some:subject", "time", is_open=True))
    assert scenario.state.alerts == {"some_kind:some:subject": "a"}
