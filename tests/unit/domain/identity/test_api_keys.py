"""API keys: made, adopted, rotated and revoked one by one. The state knows a revoked key until it expires."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.event import TermStarted
from drover.domain.identity import IDENTITY
from drover.domain.identity import api_keys as rules
from drover.domain.identity import events as e
from drover.domain.identity.commands import AdoptApiKey, CreateApiKey, RevokeApiKey, RotateApiKey
from drover.domain.identity.policy import API_KEY_GRACE_S_MAX, API_KEY_VALID_S_MAX
from drover.testing.scenario import NOON, given
from tests.unit.domain.identity.world import digest

pytestmark = pytest.mark.req("SE-01")

YEAR_S = 365 * 86_400
IN_A_YEAR = NOON + timedelta(seconds=YEAR_S)
PHONE = "dddddddd-0000-4000-8000-000000000001"


def key_id(number: int) -> str:
    return f"eeeeeeee-0000-4000-8000-{number:012d}"


K1, K2, K3 = map(key_id, range(1, 4))


def create(key: str = K1, role: str = "service_role", *, valid_s: int = YEAR_S, **more) -> CreateApiKey:
    return CreateApiKey(key, "back office", role, valid_s, **more)


def adopt(key: str = K1, token: str = "old", role: str = "anon", **more) -> AdoptApiKey:
    return AdoptApiKey(key, "credentials.json", role, digest(token), IN_A_YEAR, **more)


def test_a_key_is_created_and_the_answer_has_what_its_token_says():
    (
        given(IDENTITY)
        .when(create())
        .then(e.ApiKeyCreated(K1, "back office", "service_role", IN_A_YEAR))
        .then_answers(key_id=K1, name="back office", role="service_role", device_id=None, expires_at=IN_A_YEAR)
    )


def test_a_device_key_and_no_other_names_a_device():
    scenario = given(IDENTITY)
    scenario.when(create(role="device")).then_rejected(Code.VALIDATION_ERROR, field="device_id")
    scenario.when(create(role="anon", device_id=PHONE)).then_rejected(Code.VALIDATION_ERROR, field="device_id")
    scenario.when(create(role="device", device_id=PHONE)).then(e.ApiKeyCreated).then_answers(device_id=PHONE)


def test_no_two_keys_have_the_same_id():
    scenario = given(IDENTITY).when(create())
    scenario.when(create()).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(adopt()).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(RotateApiKey(K1, K1, YEAR_S, 0)).then_rejected(Code.UNIQUE_VIOLATION)


def test_an_old_key_is_adopted_once_and_a_repeat_gets_the_same_answer():
    scenario = given(IDENTITY).when(adopt()).then(e.ApiKeyAdopted).then_answers(key_id=K1, expires_at=IN_A_YEAR)
    scenario.when(adopt(K2)).then_nothing().then_answers(key_id=K1, expires_at=IN_A_YEAR)
    scenario.when(adopt(K2, "another")).then(e.ApiKeyAdopted).then_answers(key_id=K2)


def test_a_revoked_key_cannot_be_adopted_again():
    scenario = given(IDENTITY).when(adopt()).when(RevokeApiKey(K1))
    scenario.when(adopt(K2)).then_rejected(Code.CONFLICT, key_id=K1)


def test_an_expired_key_cannot_be_adopted():
    given(IDENTITY).after(seconds=YEAR_S).when(adopt()).then_rejected(Code.VALIDATION_ERROR, field="expires_at")


def test_an_adopted_key_is_valid_for_ten_years_at_most():
    forever = AdoptApiKey(K1, "old", "anon", digest("old"), NOON + timedelta(days=365 * 100))
    scenario = given(IDENTITY).when(forever)
    (adopted,) = scenario.decision.events
    assert adopted.expires_at == NOON + timedelta(seconds=API_KEY_VALID_S_MAX)


def test_a_key_is_revoked_once():
    scenario = given(IDENTITY).when(create()).when(RevokeApiKey(K1)).then(e.ApiKeyRevoked(K1, "revoked"))
    assert list(scenario.state.revoked) == [K1]
    scenario.when(RevokeApiKey(K1)).then_nothing()
    scenario.when(RevokeApiKey(K2)).then_rejected(Code.NOT_FOUND)
    scenario.when(RotateApiKey(K1, K2, YEAR_S, 0)).then_rejected(Code.NOT_FOUND)


def test_a_rotated_key_is_revoked_after_its_grace():
    scenario = given(IDENTITY).when(create(role="device", device_id=PHONE))
    scenario.when(RotateApiKey(K1, K2, YEAR_S, 3600)).then(
        e.ApiKeyCreated(K2, "back office", "device", IN_A_YEAR, PHONE, K1),
        e.ApiKeyReplaced(K1, K2, NOON + timedelta(hours=1)),
    )
    scenario.then_answers(key_id=K2, role="device", device_id=PHONE)
    scenario.after(seconds=3599).ticked().then_nothing()
    scenario.after(seconds=1).ticked().then(e.ApiKeyRevoked(K1, "rotated"))
    assert list(scenario.state.revoked) == [K1]


def test_without_a_grace_the_old_key_is_revoked_at_once():
    scenario = given(IDENTITY).when(create()).when(RotateApiKey(K1, K2, YEAR_S, 0))
    scenario.then(e.ApiKeyCreated, e.ApiKeyRevoked(K1, "rotated"))


def test_a_key_revoked_in_its_grace_is_not_revoked_twice():
    scenario = given(IDENTITY).when(create()).when(RotateApiKey(K1, K2, YEAR_S, 3600)).when(RevokeApiKey(K1))
    scenario.after(hours=2).ticked().then_nothing()


def test_a_key_has_one_live_successor():
    scenario = given(IDENTITY).when(create()).when(RotateApiKey(K1, K2, YEAR_S, 3600))
    scenario.when(RotateApiKey(K1, K3, YEAR_S, 3600)).then_rejected(Code.CONFLICT, successor_id=K2)
    scenario.when(RevokeApiKey(K2)).when(RotateApiKey(K1, K3, YEAR_S, 3600)).then(e.ApiKeyCreated, e.ApiKeyReplaced)


@pytest.mark.parametrize(("revoked", "kept_s"), [(False, 0), (True, 86_400)], ids=["valid", "revoked"])
def test_a_key_leaves_the_state_when_it_expires_and_a_revoked_one_when_no_clock_is_so_far_behind(revoked, kept_s):
    scenario = given(IDENTITY).when(adopt())
    if revoked:
        scenario.when(RevokeApiKey(K1))
    scenario.after(seconds=YEAR_S + kept_s - 1).ticked().then_nothing()
    assert bool(scenario.state.revoked) == revoked
    scenario.after(seconds=1).ticked().then(e.ApiKeyExpired(K1))
    assert not (
        scenario.state.api_keys or scenario.state.revoked or scenario.state.adopted or scenario.state.timers.due
    )


def test_a_grace_does_not_outlive_its_key():
    scenario = given(IDENTITY).when(create(valid_s=60)).when(RotateApiKey(K1, K2, YEAR_S, 3600))
    scenario.after(seconds=60).ticked()
    assert [type(event) for event in scenario.decision.events] in ([e.ApiKeyExpired], [e.ApiKeyRevoked])
    assert [key.key_id for key in scenario.state.api_keys.values() if not key.is_revoked] == [K2]
    scenario.after(days=1).ticked()
    assert list(scenario.state.api_keys) == [K2]


@pytest.mark.req("YR-13")
def test_a_revoked_key_is_not_forgotten_early_after_a_clock_was_ahead():
    scenario = given(IDENTITY).when(create()).when(RevokeApiKey(K1)).after(days=1)
    scenario.given(TermStarted(2, "w", ahead_s=86_400.0))  # it is noon of the first day again
    scenario.after(seconds=YEAR_S + 86_400 - 1).ticked().then_nothing()
    assert list(scenario.state.revoked) == [K1]
    scenario.after(seconds=1).ticked().then(e.ApiKeyExpired)


def test_there_is_a_bound_on_keys_that_have_not_expired(monkeypatch):
    monkeypatch.setattr(rules, "API_KEYS_MAX", 2)
    scenario = given(IDENTITY).when(create()).when(create(K2)).when(RevokeApiKey(K2))
    for command in (create(K3), adopt(K3), RotateApiKey(K1, K3, YEAR_S, 0)):
        scenario.when(command).then_rejected(Code.CONFLICT, api_keys_max=2)


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (create("K1"), "key_id"),
        (create(role="admin"), "key_role"),
        (create(valid_s=0), "valid_s"),
        (create(valid_s=API_KEY_VALID_S_MAX + 1), "valid_s"),
        (create(role="device", device_id="phone"), "device_id"),
        (CreateApiKey(K1, "", "anon", 1), "name"),
        (CreateApiKey(K1, "a\nb", "anon", 1), "name"),
        (CreateApiKey(K1, "n" * 81, "anon", 1), "name"),
        (AdoptApiKey(K1, "old", "anon", "the key itself", IN_A_YEAR), "digest"),
        (RotateApiKey(K1, K2, YEAR_S, -1), "grace_s"),
        (RotateApiKey(K1, K2, YEAR_S, API_KEY_GRACE_S_MAX + 1), "grace_s"),
    ],
)
def test_a_malformed_command_is_refused_without_repeating_it(command, field):
    scenario = given(IDENTITY).when(command).then_rejected(Code.VALIDATION_ERROR, field=field)
    assert "value" not in scenario.decision.rejection.details
