"""Alerts of renders: raised once, over when what they are about is over, and never left behind."""

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.render.alerts import STOP_FAILED
from drover.domain.render.commands import CancelRender, Claim, ReleaseRender
from drover.domain.render.events import RenderArchived, RenderCancelled, RenderCompleted, RenderFailed
from drover.domain.render.policy import RULES, Fault, Policy
from tests.unit.domain.render.world import (
    CLOCK,
    HAND,
    W1,
    W2,
    WORKING_STATES,
    Hand,
    at,
    fail_for_good,
    hand_of,
    queue,
    queue_of,
    requested,
    told,
)

ABOUT_ALL = {"TEMPLATE_MISSING", "MAPPING_MISSING", "NEXRENDER_REFUSED", "NEXRENDER_DOWN", "NAS_AWAY"}


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("fault", sorted(Fault))
def test_a_completed_render_proves_that_what_failed_for_all_works_again(fault):
    scenario = fail_for_good(queue(requested(1), requested(2)), fault)
    (alert,) = told(scenario, AlertRaised)
    scenario.when(Claim(W2)).when(Hand(2, 1, W2).completes())
    resolved = [(event.alert_id, event.kind, event.reason) for event in told(scenario, AlertResolved)]
    assert resolved == ([(alert.alert_id, alert.kind, "completed")] if fault in ABOUT_ALL else [])


@pytest.mark.req("RN-12")
def test_a_template_that_is_missing_is_not_proven_by_another_composition():
    scenario = queue(*WORKING_STATES["preparing"], requested(2, CLOCK), *Hand(2, 1, W2).preparing())
    scenario.when(HAND.fails("TEMPLATE_MISSING")).when(Hand(2, 1, W2).completes()).then(RenderCompleted)
    assert list(queue_of(scenario).alerts) == ["template_missing:comp_chips"]


@pytest.mark.req("RN-12")
def test_the_same_trouble_of_many_renders_is_one_alert():
    scenario = queue(requested(), requested(2), *HAND.preparing(), *Hand(2, 1, W2).preparing())
    scenario.when(HAND.fails("TEMPLATE_MISSING")).then(RenderFailed, AlertRaised)
    scenario.when(Hand(2, 1, W2).fails("TEMPLATE_MISSING")).then(RenderFailed)


@pytest.mark.req("RN-12")
def test_an_alert_about_a_fault_is_over_after_a_day_and_the_next_one_raises_it_again():
    scenario = queue(*WORKING_STATES["preparing"]).when(HAND.fails("TEMPLATE_MISSING"))
    (alert,) = told(scenario, AlertRaised)
    assert alert.until == at(hours=24)
    scenario.after(hours=24).ticked().then(
        AlertResolved(alert.alert_id, "template_missing", "comp_chips", "time"), RenderArchived(1)
    )
    scenario.given(requested(2), *Hand(2).preparing()).when(Hand(2).fails("TEMPLATE_MISSING"))
    scenario.then(RenderFailed, AlertRaised)


@pytest.mark.parametrize("kind", ["gfx_data_unreadable", "render_timeout", "render_failed", "render_recovering"])
def test_a_cancelled_render_needs_nobody_any_more(kind):
    scenario = queue(*WORKING_STATES["preparing"], AlertRaised("a-1", kind, "1", "", {}))
    scenario.when(CancelRender(1)).then(RenderCancelled, AlertResolved("a-1", kind, "1", "cancelled"))
    assert queue_of(scenario).alerts == {}


@pytest.mark.parametrize("kind", ["nexrender_down:nexrender", "nas_away:nas", "template_missing:comp_chips"])
def test_a_cancelled_render_proves_nothing(kind):
    name, _, subject = kind.partition(":")
    scenario = queue(*WORKING_STATES["preparing"], AlertRaised("a-1", name, subject, "", {}))
    scenario.when(CancelRender(1)).then(RenderCancelled)
    assert list(queue_of(scenario).alerts) == [kind]


@pytest.mark.req("RN-04")
def test_a_render_that_failed_is_not_recovering_any_more():
    scenario = queue(requested())
    for _ in range(4):
        scenario.when(Claim(W1)).when(ReleaseRender(1))
    assert list(queue_of(scenario).alerts) == ["render_recovering:1"]
    scenario.when(Claim(W1)).when(hand_of(scenario).fails("RENDER_ERROR"))
    scenario.then(RenderFailed, AlertResolved, AlertRaised)
    assert list(queue_of(scenario).alerts) == ["render_failed:1"]


@pytest.mark.parametrize("fault", sorted(Fault))
def test_nothing_about_a_render_is_left_in_the_state_two_days_after_its_end(fault):
    scenario = queue(requested(), requested(2))
    for _ in range(4):
        scenario.when(Claim(W1)).when(ReleaseRender(1))
    fail_for_good(scenario, fault).when(CancelRender(2)).after(days=2).ticked()
    assert (queue_of(scenario).alerts, queue_of(scenario).timers.due, queue_of(scenario).renders) == ({}, {}, {})


def test_every_alert_that_a_fault_raises_is_known_where_they_are_resolved():
    kinds = {rule.alert for rule in RULES.values()} | {Policy().rule(Fault.NEXRENDER_DOWN).alert}
    events = [
        AlertRaised(f"a-{kind}", kind, {"render": "1", "composition": "comp_chips"}.get(about, about), "", {})
        for kind, about in {(rule.alert, rule.about) for rule in map(Policy().rule, Fault)}
    ]
    scenario = queue(*WORKING_STATES["uploading"], *events).when(HAND.completes())
    assert {event.kind for event in told(scenario, AlertResolved)} == kinds
    assert queue_of(scenario).alerts == {}
    assert STOP_FAILED not in kinds


def test_open_alerts_of_others_cost_a_completion_nothing():
    others = [AlertRaised(f"a-{number}", "render_recovering", str(number), "", {}) for number in range(2, 50)]
    scenario = queue(*WORKING_STATES["uploading"], *others).when(HAND.completes()).then(RenderCompleted)
    assert len(queue_of(scenario).alerts) == 48
