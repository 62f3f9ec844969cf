"""Claims and what senders report: sent, failed, unknown."""

from datetime import timedelta

import pytest

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.domain.reminder.alerts import PUSH_FAILING
from drover.domain.reminder.policy import FAILURES_ALERT_AT, FETCH_LIMIT_MAX, Policy
from tests.unit.domain.reminder.world import PAGE, USER, World


@pytest.mark.req("RM-06", "RM-07")
def test_a_claim_takes_what_is_due_and_nobody_else_gets_it():
    world = World().registered()
    world.claimed().then(
        e.AlarmDispatched(
            page_id=PAGE,
            user_id=USER,
            sending=1,
            life=1,
            attempt=1,
            instance="sender-1",
            recover_at=world.now + timedelta(hours=6),
        )
    )
    assert world.decider.answer(world.decision.events) == [{"page_id": PAGE, "sending": 1, "life": 1, "attempt": 1}]
    world.when(c.ClaimDue(100, "sender-2")).then_nothing()


@pytest.mark.req("RM-06")
def test_a_claim_takes_as_many_as_asked_for_the_longest_due_first():
    world = World()
    for number in range(5):
        world.registered(f"page-{number}").after(seconds=1)
    world.claimed(limit=3)
    assert [event.page_id for event in world.events_of(e.AlarmDispatched)] == ["page-0", "page-1", "page-2"]
    world.claimed(limit=3)
    assert [event.page_id for event in world.events_of(e.AlarmDispatched)] == ["page-3", "page-4"]


def test_the_largest_claim_of_the_longest_ids_fits_one_decision():
    world = World()
    for number in range(FETCH_LIMIT_MAX):
        world.registered(f"{number:0>128}", user="u" * 128)
    taken = 0
    while world.claimed(limit=FETCH_LIMIT_MAX).decision.events:
        taken += len(world.decision.events)
    assert taken == FETCH_LIMIT_MAX


@pytest.mark.parametrize("limit", [0, -1, FETCH_LIMIT_MAX + 1])
def test_a_claim_has_a_bound(limit):
    World().when(c.ClaimDue(limit, "x")).then_rejected(Code.VALIDATION_ERROR, field="limit")


@pytest.mark.req("RM-04", "RM-07")
def test_a_sending_raises_the_count_and_is_in_nobodys_hand_any_more():
    world = World().registered().claimed()
    world.when(c.ReportSent(PAGE, 1, 1, 1, "push-77")).then(
        e.AlarmSent(
            page_id=PAGE,
            user_id=USER,
            sending=1,
            life=1,
            attempt=1,
            notification_id="push-77",
            sent_count=2,
            next_alarm_time=world.now + timedelta(days=1),
            shift_min=0,
        )
    )
    assert not world.alarm().dispatched
    assert world.state.in_hand == {}


@pytest.mark.req("RM-10")
def test_a_sending_is_counted_once_however_often_it_is_reported():
    world = World().registered().claimed()
    report = world.report(c.ReportSent)
    world.when(report).then(e.AlarmSent)
    world.when(report).then_rejected(Code.STALE_ATTEMPT)
    assert world.alarm().sent_count == 2


@pytest.mark.req("RM-07")
def test_a_known_failure_releases_it_with_a_delay_that_grows_and_is_bounded():
    world = World().registered()
    delays = []
    for attempt in range(1, 10):
        world.when_due().claimed()
        assert world.events_of(e.AlarmDispatched)[0].attempt == attempt
        world.failed().then(e.SendingFailed)
        delays.append((world.wakes() - world.now) / timedelta(seconds=1))
        assert world.alarm().sent_count == 1
    assert delays == [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]


@pytest.mark.req("RM-07", "RM-10")
def test_the_retry_is_the_same_sending():
    world = World().registered().claimed().failed().when_due().claimed()
    (claim,) = world.events_of(e.AlarmDispatched)
    assert (claim.sending, claim.life, claim.attempt) == (1, 1, 2)
    world.sent()
    assert world.alarm().sent_count == 2
    assert world.alarm().attempt == 0


@pytest.mark.req("RM-07", "RM-10")
def test_an_unknown_outcome_keeps_it_for_six_hours_and_then_the_same_key_is_sent_again():
    world = World().registered().claimed()
    began = world.now
    world.after(seconds=10).unknown().then(
        e.SendingUncertain(
            page_id=PAGE,
            user_id=USER,
            sending=1,
            life=1,
            attempt=1,
            code="timed_out",
            error="",
            delivered=[],
            recover_at=began + timedelta(hours=6),
        )
    )
    assert world.alarm().dispatched
    world.at(began + timedelta(hours=5, minutes=59)).claimed().then_nothing()
    world.at(began + timedelta(hours=6)).claimed()
    (claim,) = world.events_of(e.AlarmDispatched)
    assert (claim.sending, claim.attempt) == (1, 2)


@pytest.mark.req("RM-06", "RM-07")
def test_what_a_sender_took_along_when_it_died_is_taken_up_after_six_hours():
    world = World().registered("a").registered("b").claimed()
    world.sent("a").after(hours=6).claimed()
    assert [event.page_id for event in world.events_of(e.AlarmDispatched)] == ["b"]


@pytest.mark.req("RM-07")
def test_how_long_is_a_setting():
    world = World(policy=Policy(recover_after=timedelta(minutes=1))).registered().claimed().after(minutes=1)
    world.claimed().then(e.AlarmDispatched)


@pytest.mark.req("RM-08")
def test_a_partial_failure_does_not_raise_the_count_and_who_has_it_is_remembered():
    world = World().registered().claimed().unknown(code="partial", delivered=("s1",))
    assert world.alarm().sent_count == 1
    assert world.alarm().dispatched
    assert world.state.delivered == {PAGE: ("s1",)}
    world.after(hours=6).claimed().unknown(code="partial", delivered=("s2",))
    assert world.state.delivered == {PAGE: ("s1", "s2")}
    world.after(hours=6).claimed().failed()
    assert world.state.delivered == {PAGE: ("s1", "s2")}, "those still have it"
    world.when_due().claimed().sent()
    assert world.state.delivered == {}


@pytest.mark.req("RM-07")
def test_what_can_never_be_sent_waits_for_its_next_regular_time_and_counts_as_not_sent():
    world = World().registered().claimed().failed(permanent=True)
    assert world.alarm().sent_count == 1
    assert world.wakes() == world.now.replace(microsecond=0) + timedelta(days=1)
    world.when_due().claimed()
    assert world.events_of(e.AlarmDispatched)[0].sending == 1


def refused(world):
    return world.report(c.ReportFailed, permanent=False, code="http_401", only_for_a_day=True)


@pytest.mark.req("RM-07")
@pytest.mark.parametrize("late", [timedelta(0), timedelta(days=3)], ids=["on time", "three days late"])
def test_a_refusal_that_may_be_a_mistake_is_retried_for_a_day_and_then_given_up(late):
    world = World().registered()
    world.now += late
    began = world.now
    for _ in range(100):
        world.when_due().claimed().when(refused(world))
        (failed,) = world.events_of(e.SendingFailed)
        if failed.permanent:
            break
    assert failed.permanent
    assert timedelta(hours=23) < world.now - began < timedelta(hours=25)
    assert world.alarm().sent_count == 1
    assert world.wakes() > world.now + timedelta(hours=12), "at its next regular time"


@pytest.mark.req("RM-07")
def test_a_refusal_that_is_corrected_within_the_day_costs_nothing():
    world = World().registered().claimed()
    world.when(refused(world)).when_due().claimed().sent().then(e.AlarmSent)


@pytest.mark.req("RM-07")
def test_a_receiver_that_was_away_for_days_still_gets_a_day_when_it_refuses():
    world = World().registered()
    for _ in range(100):
        world.when_due().claimed().failed()
    began = world.now
    for _ in range(100):
        world.when_due().claimed().when(refused(world))
        (failed,) = world.events_of(e.SendingFailed)
        if failed.permanent:
            break
    assert failed.permanent
    assert timedelta(hours=23) < world.now - began < timedelta(hours=25)


@pytest.mark.req("RM-07")
def test_refusals_in_a_row_raise_the_alert_about_the_provider():
    world = World().registered()
    for _ in range(FAILURES_ALERT_AT):
        world.when_due().claimed().when(refused(world))
    assert [alert.kind for alert in world.events_of(AlertRaised)] == ["push_failing"]


@pytest.mark.req("RM-06")
def test_a_late_failure_of_an_earlier_claim_does_not_take_the_sending_from_the_next():
    world = World().registered().claimed()
    failed, unknown = (
        world.report(c.ReportFailed, permanent=False, code="x"),
        world.report(c.ReportUnknown, code="x"),
    )
    world.after(hours=6).claimed().then(e.AlarmDispatched)
    world.when(failed).then_rejected(Code.STALE_ATTEMPT)
    world.when(unknown).then_rejected(Code.STALE_ATTEMPT)


@pytest.mark.req("RM-10")
def test_a_late_success_of_an_earlier_claim_holds_since_the_provider_has_it():
    world = World().registered().claimed()
    sent = world.report(c.ReportSent)
    world.after(hours=6).claimed()
    world.when(sent).then(e.AlarmSent)
    again = c.ReportSent(PAGE, 1, 1, 2)
    world.when(again).then_rejected(Code.STALE_ATTEMPT)
    assert world.alarm().sent_count == 2


@pytest.mark.req("RM-14")
def test_many_failures_in_a_row_raise_one_alert_and_the_first_success_resolves_it():
    world = World()
    raised = []
    for number in range(FAILURES_ALERT_AT + 3):
        page = f"page-{number}"
        world.registered(page).claimed().failed(page)
        raised += world.events_of(AlertRaised)
    (alert,) = raised
    assert alert.kind == PUSH_FAILING
    assert "http_503" in alert.message
    world.registered("well").claimed().sent("well").then(e.AlarmSent, AlertResolved)
    assert world.state.failed_in_row == 0


def test_users_whom_nobody_can_reach_do_not_speak_against_the_provider():
    world = World()
    for number in range(FAILURES_ALERT_AT + 3):
        page = f"page-{number}"
        world.registered(page).claimed()
        world.when(world.report(c.ReportFailed, page, permanent=True, code="no_subscription")).then(e.SendingFailed)


@pytest.mark.parametrize("code", ["", "With Spaces", "x" * 65])
def test_what_went_wrong_has_a_short_name(code):
    World().registered().claimed().when(c.ReportUnknown(PAGE, 1, 1, 1, code)).then_rejected(Code.VALIDATION_ERROR)


@pytest.mark.req("RM-15")
def test_the_fetch_limit_can_be_changed_while_running():
    world = World()
    assert world.state.fetch_limit is None
    world.when(c.ChangeFetchLimit(7)).then(e.FetchLimitChanged(7)).then_answers(fetch_limit=7)
    world.when(c.ChangeFetchLimit(7)).then_nothing()
    assert world.state.fetch_limit == 7
    world.when(c.ChangeFetchLimit(0)).then_rejected(Code.VALIDATION_ERROR, field="fetch_limit")
