"""A person is erased: what the log keeps, who cannot be erased, and what is refused afterwards."""

from __future__ import annotations

import msgspec
import pytest

from drover.domain.erasure import KeyRef, SealedText
from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity import commands as c
from drover.domain.identity import events as e
from drover.domain.identity.audit import AccessRecorded, RecordAccess
from drover.domain.identity.subjects import person_token
from drover.testing.scenario import given
from tests.unit.domain.identity.world import KIM, LEE, PARK, S1, S2, created, digest, refresh, signed_in, start

pytestmark = pytest.mark.req("SE-09")


def sealed(user_id=LEE, generation=0):
    return str(SealedText(KeyRef("main", person_token(user_id), generation), "AAECAwQFBgcICQoLDA0ODw"))


def access(user_id=LEE, generation=0):
    address = sealed(user_id, generation)
    return RecordAccess("66666666-0000-7000-8000-000000000001", "film", "/api/renders/7/preview", "Firefox", address)


def create(account, email, generation=0):
    text = sealed(account, generation)
    return c.CreateAccount(account, digest(email), text, "viewer", text)


def test_an_erasure_is_recorded_ends_the_sessions_and_removes_the_account():
    scenario = signed_in(LEE).when(start(S2, LEE)).when(c.ErasePerson(LEE))
    scenario.then(e.PersonErased(LEE), e.SessionEnded, e.AccountRemoved(LEE))
    scenario.then_answers(user_id=LEE, had_account=True)
    ended = next(event for event in scenario.decision.events if isinstance(event, e.SessionEnded))
    assert (ended.session_id, ended.reason) == (S2, "erased")
    assert IDENTITY.erasures(scenario.state) == {person_token(LEE): 1}
    assert LEE not in scenario.state.accounts
    assert S1 in scenario.state.sessions


def test_nobody_is_left_who_could_sign_in_with_it():
    scenario = signed_in(LEE).when(start(S2, LEE)).when(c.ErasePerson(LEE))
    for command in (
        c.FindAccount((digest(LEE),)),
        c.ReadAccount(LEE),
        refresh(0, S2),
        c.ChangePassword(LEE, sealed(generation=1)),
        c.EnableAccount(LEE),
        c.ResealAccount(LEE, 1, digest(LEE), sealed(generation=1), sealed(generation=1)),
        c.ListSessions(LEE),
    ):
        scenario.when(command).then_rejected(Code.NOT_FOUND)
    scenario.when(start(S2, LEE)).then_rejected(Code.CONFLICT)


def test_the_ended_sessions_are_archived_without_the_account():
    scenario = signed_in(LEE).when(start(S2, LEE)).when(c.ErasePerson(LEE)).after(hours=2).ticked()
    assert S2 not in scenario.state.ended


def test_the_address_can_be_registered_again_for_another_account():
    scenario = given(IDENTITY, created()).when(create(LEE, "lee")).when(c.ErasePerson(LEE))
    scenario.when(create(PARK, "lee")).then(e.AccountCreated)


def test_somebody_without_an_account_can_be_erased():
    scenario = given(IDENTITY).when(c.ErasePerson("user_2abcDEF")).then(e.PersonErased("user_2abcDEF"))
    scenario.then_answers(user_id="user_2abcDEF", had_account=False)


@pytest.mark.parametrize("user_id", ["", "x" * 201, "a\nb", "\ud800"])
def test_an_id_that_nobody_can_have_is_refused(user_id):
    given(IDENTITY).when(c.ErasePerson(user_id)).then_rejected(Code.VALIDATION_ERROR, field="user_id")


def test_the_last_admin_cannot_be_erased_and_is_told_what_to_do():
    scenario = signed_in(LEE).when(c.ErasePerson(KIM)).then_rejected(Code.CONFLICT)
    assert scenario.decision.rejection.message == "This is the last admin: make somebody else one first"
    scenario.when(c.ChangeRole(LEE, "admin")).when(c.ErasePerson(KIM)).then(
        e.PersonErased, e.SessionEnded, e.AccountRemoved
    )
    assert scenario.state.admins == 1
    scenario.when(c.ErasePerson(LEE)).then_rejected(Code.CONFLICT)


def test_a_disabled_admin_can_be_erased():
    scenario = given(IDENTITY, created(), created(LEE, "admin")).when(c.DisableAccount(LEE))
    scenario.when(c.ErasePerson(LEE)).then(e.PersonErased, e.AccountRemoved)
    assert scenario.state.admins == 1


def test_an_erasure_can_be_repeated():
    scenario = signed_in(LEE).when(c.ErasePerson(LEE)).when(c.ErasePerson(LEE)).then(e.PersonErased(LEE))
    assert IDENTITY.erasures(scenario.state) == {person_token(LEE): 2}


def test_what_was_sealed_before_the_erasure_is_refused_afterwards():
    scenario = given(IDENTITY, created()).when(create(LEE, "lee")).when(c.ErasePerson(LEE))
    scenario.when(create(LEE, "lee")).then_rejected(Code.UNAVAILABLE)
    scenario.when(c.ChangePassword(LEE, sealed())).then_rejected(Code.UNAVAILABLE)
    scenario.when(create(PARK, "park")).then(e.AccountCreated)


def address_in(scenario):
    (event,) = scenario.decision.events
    assert isinstance(event, AccessRecorded)
    return event.address_sealed


@pytest.mark.parametrize("generation", [0, 1])
def test_a_late_access_of_an_erased_account_is_recorded_without_the_address(generation):
    scenario = signed_in(LEE).when(c.ErasePerson(LEE)).when(access(generation=generation))
    assert address_in(scenario) is None
    assert address_in(scenario.when(access(KIM))) == sealed(KIM)


def test_a_person_of_another_issuer_may_come_back_and_has_an_address_again():
    scenario = given(IDENTITY).when(c.ErasePerson("kim"))
    assert address_in(scenario.when(access("kim", 0))) is None, "nobody could read it"
    assert address_in(scenario.when(access("kim", 1))) == sealed("kim", 1)


def test_a_snapshot_remembers_erasures():
    scenario = signed_in(LEE).when(c.ErasePerson(LEE))
    image = msgspec.json.encode(IDENTITY.to_image(scenario.state))
    again = IDENTITY.from_image(msgspec.json.decode(image, type=IDENTITY.state))
    assert IDENTITY.erasures(again) == {person_token(LEE): 1}
    assert again.removed == {person_token(LEE): None}
