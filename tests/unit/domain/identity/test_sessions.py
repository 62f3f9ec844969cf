"""Signing in, refreshing, signing out, and what happens to whoever uses a token twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.domain.alert_handling import SnoozeAlert
from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.errors import Code
from drover.domain.identity import IDENTITY, sessions
from drover.domain.identity import events as e
from drover.domain.identity.commands import EndAllSessions, EndSession, ListSessions
from drover.domain.identity.policy import GRACE, ROTATIONS_IN_GRACE_MAX, SESSIONS_PER_ACCOUNT_MAX
from drover.testing.scenario import NOON, given
from tests.unit.domain.identity.world import (
    IDLE_S,
    KIM,
    LEE,
    LIFETIME_S,
    S1,
    S2,
    S3,
    created,
    refresh,
    session_id,
    signed_in,
    start,
    token,
)


def test_somebody_signs_in():
    (
        given(IDENTITY, created())
        .when(start())
        .then(
            e.SessionStarted(
                S1,
                KIM,
                token(0),
                "Firefox on Windows",
                NOON + timedelta(seconds=IDLE_S),
                NOON + timedelta(seconds=LIFETIME_S),
            )
        )
        .then_answers(session_id=S1)
    )


def test_an_account_that_changed_while_its_password_was_checked_signs_nobody_in():
    given(IDENTITY, created(), e.PasswordChanged(KIM, "other")).when(start(revision=1)).then_rejected(Code.CONFLICT)
    given(IDENTITY, created(), created(LEE)).given(e.AccountDisabled(KIM)).when(start(revision=2)).then_rejected(
        Code.CONFLICT
    )
    given(IDENTITY).when(start()).then_rejected(Code.CONFLICT)


def test_a_session_id_is_used_once():
    signed_in().when(start()).then_rejected(Code.UNIQUE_VIOLATION)
    signed_in().when(EndSession(S1)).when(start()).then_rejected(Code.UNIQUE_VIOLATION)


@pytest.mark.req("SY-13")
def test_a_refresh_token_is_replaced_by_its_child():
    scenario = signed_in().after(minutes=15).when(refresh(0))
    scenario.then(
        e.RefreshRotated(S1, KIM, token(0), token(1), scenario.now + GRACE, scenario.now + timedelta(seconds=IDLE_S))
    ).then_answers(session_id=S1, account_id=KIM, child=token(1))
    scenario.after(minutes=15).when(refresh(1)).then(e.RefreshRotated)


@pytest.mark.req("SY-13")
def test_two_tabs_with_the_same_token_get_the_same_child():
    scenario = signed_in().after(minutes=15).when(refresh(0))
    scenario.after(seconds=10).when(refresh(0)).then_nothing().then_answers(child=token(1), session_id=S1)
    scenario.when(refresh(1)).then(e.RefreshRotated)


def test_a_tab_that_comes_late_while_another_has_gone_on_is_not_a_thief():
    scenario = signed_in().when(refresh(0)).after(seconds=4).when(refresh(1)).after(seconds=4)
    scenario.when(refresh(0)).then_nothing().then_answers(child=token(1))
    scenario.when(refresh(1)).then_nothing().then_answers(child=token(2))


@pytest.mark.req("SY-13")
def test_a_token_used_again_after_the_grace_ends_the_family_and_raises_an_alert():
    scenario = signed_in().when(refresh(0)).after(seconds=10.001).when(refresh(0))
    scenario.then_rejected(Code.CONFLICT, e.SessionEnded, AlertRaised, reason="reuse")
    ended, alert = scenario.decision.events
    assert (ended.session_id, ended.account_id, ended.reason) == (S1, KIM, "reuse")
    assert (alert.kind, alert.subject, alert.details) == ("refresh_token_reused", S1, {"account_id": KIM})
    scenario.when(refresh(1)).then_rejected(Code.NOT_FOUND, reason="reuse")
    scenario.after(days=1).ticked().then(e.SessionArchived, AlertResolved)


@pytest.mark.req("SY-13")
def test_snoozes_take_no_place_of_the_alerts_that_may_be_open(monkeypatch):
    monkeypatch.setattr(sessions, "ALERTS_MAX", 1)
    scenario = signed_in().when(start(S2)).when(refresh(0)).when(refresh(0, S2)).after(minutes=1).when(refresh(0))
    (alert,) = [event for event in scenario.decision.events if isinstance(event, AlertRaised)]
    scenario.when(SnoozeAlert(alert.alert_id, scenario.now + timedelta(days=30)))
    scenario.after(days=1, minutes=1).ticked().when(refresh(0, S2))
    assert [event.subject for event in scenario.decision.events if isinstance(event, AlertRaised)] == [S2]


def test_reuse_ends_its_own_family_and_no_other():
    scenario = signed_in().when(start(S2)).when(refresh(0)).after(minutes=1).when(refresh(0))
    scenario.when(refresh(0, S2)).then(e.RefreshRotated)


def test_refreshing_without_end_within_one_grace_is_refused_and_ends_nothing():
    scenario = signed_in()
    for number in range(ROTATIONS_IN_GRACE_MAX):
        scenario.when(refresh(number)).then(e.RefreshRotated)
    scenario.when(refresh(ROTATIONS_IN_GRACE_MAX)).then_rejected(Code.RATE_LIMITED, retry_after_s=10)
    scenario.after(seconds=11).when(refresh(ROTATIONS_IN_GRACE_MAX)).then(e.RefreshRotated)
    assert len(scenario.state.sessions[S1].spent) == 1, "what can no longer be asked for is forgotten"


@pytest.mark.req("SY-13", "SY-14")
def test_a_session_that_nobody_uses_expires():
    scenario = signed_in().after(seconds=IDLE_S - 1).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(e.SessionEnded(S1, KIM, "expired", scenario.now + timedelta(hours=1)))
    scenario.when(refresh(0)).then_rejected(Code.NOT_FOUND, reason="expired")


def test_a_session_whose_end_is_due_is_over_before_the_clock_has_said_so():
    signed_in().after(seconds=IDLE_S).when(refresh(0)).then_rejected(Code.NOT_FOUND, reason="expired")


def test_use_keeps_a_session_alive_but_not_beyond_its_end():
    scenario = signed_in()
    for number in range(4):
        scenario.after(days=6).ticked().then_nothing().when(refresh(number)).then(e.RefreshRotated)
    # Thirty days after the sign-in it is over, however often it was used.
    scenario.after(days=6).ticked().then(e.SessionEnded)
    assert scenario.decision.events[0].reason == "expired"


def test_ended_sessions_leave_the_state_after_an_hour():
    scenario = signed_in().when(EndSession(S1)).after(minutes=59).ticked().then_nothing()
    scenario.after(minutes=1).ticked().then(e.SessionArchived(S1))
    assert not scenario.state.sessions
    assert not scenario.state.ended
    assert IDENTITY.next_deadline(scenario.state) is None
    scenario.when(refresh(0)).then_rejected(Code.NOT_FOUND)


def test_many_sessions_that_expire_at_once_are_ended_in_bounded_decisions():
    scenario = given(IDENTITY, *(created(f"aaaaaaaa-0000-4000-8000-{n:012d}") for n in range(600)))
    for n in range(600):
        scenario.when(start(session_id(n), f"aaaaaaaa-0000-4000-8000-{n:012d}"))
    scenario.after(days=8).ticked()
    assert not scenario.state.sessions
    assert len(scenario.state.ended) == 600


@pytest.mark.req("SY-13")
def test_a_person_sees_their_sessions_the_one_used_last_first():
    scenario = signed_in(LEE).when(start(S2)).when(start(S3, LEE)).after(minutes=1).when(refresh(0, S1))
    scenario.when(ListSessions(KIM)).then_nothing()
    told = scenario.decision.result
    assert [session["id"] for session in told] == [S1, S2]
    assert told[0]["user_agent"] == "Firefox on Windows"
    assert not any("digest" in name or "token" in name for session in told for name in session)


@pytest.mark.req("SY-13")
def test_a_person_ends_a_session_of_theirs_and_of_nobody_else():
    scenario = signed_in(LEE)
    scenario.when(EndSession(S1, account_id=LEE)).then_rejected(Code.NOT_FOUND)
    scenario.when(EndSession(S1, account_id=KIM)).then(e.SessionEnded).then_answers(ended=1)
    scenario.when(EndSession(S1, account_id=KIM)).then_rejected(Code.NOT_FOUND)


def test_an_admin_ends_anybodys_session():
    signed_in().when(EndSession(S1, reason="by_admin")).then(e.SessionEnded)


def test_all_sessions_but_the_own_one_are_ended():
    scenario = signed_in(LEE).when(start(S2)).when(start(S3, LEE))
    scenario.when(EndAllSessions(KIM, keep_session_id=S1)).then(e.SessionEnded).then_answers(ended=1)
    assert scenario.state.sessions.keys() == {S1, S3}
    scenario.when(EndAllSessions(KIM, keep_session_id=S1)).then_nothing()


@pytest.mark.req("SY-13")
def test_with_a_limit_the_least_recently_used_session_makes_room():
    scenario = signed_in().when(start(S2)).after(minutes=1).when(refresh(0, S1))
    scenario.when(start(S3, sessions_max=2)).then(e.SessionEnded, e.SessionStarted).then_answers(session_id=S3)
    assert scenario.decision.events[0].session_id == S2
    assert scenario.decision.events[0].reason == "limit"
    scenario.when(start(session_id(9), sessions_max=1)).then(e.SessionEnded, e.SessionEnded, e.SessionStarted)


def test_without_a_limit_there_is_still_a_bound():
    scenario = given(IDENTITY, created())
    for number in range(SESSIONS_PER_ACCOUNT_MAX + 5):
        scenario.when(start(session_id(number)))
    assert len(scenario.state.accounts[KIM].sessions) == SESSIONS_PER_ACCOUNT_MAX
    assert session_id(0) not in scenario.state.sessions
    scenario.when(EndAllSessions(KIM)).then(*[e.SessionEnded] * SESSIONS_PER_ACCOUNT_MAX)


@pytest.mark.req("YR-10")
def test_sessions_are_refused_rather_than_ended_ones_forgotten(monkeypatch):
    monkeypatch.setattr(sessions, "ENDED_MAX", 1)
    scenario = given(IDENTITY, created()).when(start(S1)).when(EndSession(S1, None, "signed_out"))
    scenario.when(start(S2)).then_rejected(Code.RATE_LIMITED)
    scenario.after(hours=1).ticked().when(start(S2)).then(e.SessionStarted)
