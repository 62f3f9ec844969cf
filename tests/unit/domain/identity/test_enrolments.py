"""Enrolment: one code, one agent, a key for each phone. A lost answer can be asked for again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.domain.errors import Code
from drover.domain.fleet.policy import DEVICES_PER_PC_MAX
from drover.domain.fleet.policy import PC_ID_PATTERN as FLEET_PC_ID_PATTERN
from drover.domain.identity import IDENTITY, enrolments
from drover.domain.identity import events as e
from drover.domain.identity.commands import (
    CreateEnrolment,
    EndEnrolment,
    EnrolDevices,
    ReadEnrolment,
    RevokeApiKey,
    RotateApiKey,
)
from drover.domain.identity.events import EnrolledKey
from drover.domain.identity.policy import (
    DEVICES_PER_ENROLMENT_MAX,
    ENROLMENT_S_MAX,
    ENROLMENT_USES_MAX,
    PC_ID_PATTERN,
)
from drover.testing.scenario import NOON, given
from tests.unit.domain.identity.world import digest

pytestmark = pytest.mark.req("SE-03")

YEAR_S = 365 * 86_400
SKEW_S = 86_400
CODE, OTHER_CODE = digest("code"), digest("another code")
AGENT, STRANGER = digest("nonce of the agent"), digest("nonce of somebody else")
ENROLMENT, OTHER = "cccccccc-0000-4000-8000-000000000001", "cccccccc-0000-4000-8000-000000000002"


def keys(*phones: int, round_: int = 1) -> list[EnrolledKey]:
    return [
        EnrolledKey(f"eeeeeeee-0000-4000-{round_:04d}-{phone:012d}", f"dddddddd-0000-4000-8000-{phone:012d}")
        for phone in phones
    ]


def code(enrolment: str = ENROLMENT, digest: str = CODE, *, devices_max: int = 3) -> CreateEnrolment:
    return CreateEnrolment(enrolment, "PC-1", digest, devices_max, YEAR_S, 3600)


def enrol(*phones: int, round_: int = 1, agent: str = AGENT, digest: str = CODE) -> EnrolDevices:
    return EnrolDevices(digest, agent, keys(*phones, round_=round_))


def test_a_code_gives_each_phone_a_key():
    scenario = given(IDENTITY).when(code())
    scenario.then(e.EnrolmentCreated).then_answers(enrolment_id=ENROLMENT, expires_at=NOON + timedelta(hours=1))
    scenario.when(ReadEnrolment(CODE, AGENT)).then_nothing().then_answers(pc_id="PC-1", devices_max=3)
    in_a_year = NOON + timedelta(seconds=YEAR_S)
    scenario.when(enrol(1, 2)).then(e.DevicesEnrolled(ENROLMENT, AGENT, keys(1, 2), in_a_year))
    scenario.then_answers(keys=keys(1, 2), expires_at=in_a_year)
    assert {key.device_id for key in scenario.state.api_keys.values()} == {key.device_id for key in keys(1, 2)}
    assert {key.role for key in scenario.state.api_keys.values()} == {"device"}


def test_an_agent_that_lost_the_answer_asks_again_and_the_lost_keys_are_revoked():
    scenario = given(IDENTITY).when(code()).when(enrol(1, 2)).when(enrol(1, 2, round_=2))
    (enrolled,) = scenario.decision.events
    lost = [key.key_id for key in keys(1, 2)]
    assert enrolled.revoked == lost
    assert list(scenario.state.revoked) == lost


def test_a_second_use_for_other_phones_revokes_all_keys_of_the_first():
    scenario = given(IDENTITY).when(code()).when(enrol(1, 2)).when(RevokeApiKey(keys(1)[0].key_id)).when(enrol(3))
    assert scenario.decision.events[0].revoked == [keys(2)[0].key_id]


def test_an_agent_cannot_use_up_the_keys_of_the_platform_with_one_code():
    scenario = given(IDENTITY).when(code())
    for round_ in range(ENROLMENT_USES_MAX):
        scenario.when(enrol(1, round_=round_)).then(e.DevicesEnrolled)
    scenario.when(enrol(1, round_=99)).then_rejected(Code.CONFLICT, uses_max=ENROLMENT_USES_MAX)


def test_nobody_else_can_use_a_used_code():
    scenario = given(IDENTITY).when(code()).when(enrol(1))
    for command in (enrol(2, agent=STRANGER), ReadEnrolment(CODE, STRANGER)):
        scenario.when(command).then_rejected(Code.CONFLICT, pc_id="PC-1")


def test_an_unknown_an_expired_and_a_withdrawn_code_get_the_same_answer():
    scenario = given(IDENTITY)
    unknown = scenario.when(enrol(1)).decision.rejection
    expired = scenario.when(code()).after(hours=1).when(enrol(1)).decision.rejection
    withdrawn = given(IDENTITY).when(code()).when(EndEnrolment(ENROLMENT)).when(enrol(1)).decision.rejection
    assert unknown == expired == withdrawn
    assert unknown.code == Code.NOT_FOUND


def test_a_code_expires_and_its_keys_stay():
    scenario = given(IDENTITY).when(code()).when(enrol(1)).after(hours=1).ticked()
    scenario.then(e.EnrolmentEnded(ENROLMENT, "expired"))
    assert not scenario.state.enrolments and not scenario.state.by_code
    assert [key.is_revoked for key in scenario.state.api_keys.values()] == [False]


def test_a_phone_that_enrols_again_with_another_code_loses_its_old_key():
    scenario = given(IDENTITY).when(code()).when(enrol(1, 2)).when(code(OTHER, OTHER_CODE))
    scenario.when(enrol(2, 3, round_=2, digest=OTHER_CODE))
    assert scenario.decision.events[0].revoked == [keys(2)[0].key_id]


@pytest.mark.parametrize("grace_s", [0, 3600])
@pytest.mark.parametrize("passed_s", [0, 7200])
def test_a_phone_that_enrols_again_loses_its_old_key_also_if_that_was_rotated(grace_s, passed_s):
    first, second, third = (key.key_id for round_ in (1, 2, 3) for key in keys(1, round_=round_))
    scenario = given(IDENTITY).when(code()).when(enrol(1))
    scenario.when(RotateApiKey(first, second, YEAR_S, grace_s)).when(RotateApiKey(second, third, YEAR_S, grace_s))
    scenario.after(seconds=passed_s).ticked()
    scenario.when(code(OTHER, OTHER_CODE)).when(enrol(1, round_=4, digest=OTHER_CODE))
    valid = [key.key_id for key in scenario.state.api_keys.values() if not key.is_revoked]
    assert valid == [keys(1, round_=4)[0].key_id]


def test_a_rotated_key_that_expired_is_no_obstacle_to_an_enrolment():
    first, second = (key.key_id for round_ in (1, 2) for key in keys(1, round_=round_))
    scenario = given(IDENTITY).when(code()).when(enrol(1)).after(seconds=YEAR_S - 60)
    scenario.when(RotateApiKey(first, second, YEAR_S, 0)).after(seconds=60 + SKEW_S).ticked()
    scenario.when(code(OTHER, OTHER_CODE)).when(enrol(1, round_=3, digest=OTHER_CODE))
    assert scenario.decision.events[0].revoked == [second]


def test_a_key_that_a_person_revoked_is_not_revoked_again_by_an_enrolment():
    scenario = given(IDENTITY).when(code()).when(enrol(1)).when(RevokeApiKey(keys(1)[0].key_id))
    scenario.when(code(OTHER, OTHER_CODE)).when(enrol(1, round_=2, digest=OTHER_CODE))
    assert scenario.decision.events[0].revoked == []


def test_a_code_is_for_so_many_phones():
    scenario = given(IDENTITY).when(code())
    scenario.when(enrol(1, 2, 3, 4)).then_rejected(Code.VALIDATION_ERROR, devices_max=3)
    scenario.when(enrol(1, 1)).then_rejected(Code.VALIDATION_ERROR, field="devices")
    scenario.when(EnrolDevices(CODE, AGENT, [])).then_rejected(Code.VALIDATION_ERROR, field="keys")


def test_all_phones_of_a_full_pc_enrol_twice_in_one_commit_each():
    phones = range(DEVICES_PER_ENROLMENT_MAX)
    scenario = given(IDENTITY).when(code(devices_max=DEVICES_PER_ENROLMENT_MAX)).when(enrol(*phones))
    scenario.when(enrol(*phones, round_=2)).then(e.DevicesEnrolled)
    assert len(scenario.state.revoked) == DEVICES_PER_ENROLMENT_MAX


def test_the_fleet_and_identity_have_the_same_bounds_for_a_pc():
    assert DEVICES_PER_ENROLMENT_MAX == DEVICES_PER_PC_MAX
    assert f"^{PC_ID_PATTERN}$" == FLEET_PC_ID_PATTERN


def test_a_code_is_made_once_and_codes_are_bounded(monkeypatch):
    scenario = given(IDENTITY).when(code())
    scenario.when(code()).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(code(OTHER)).then_rejected(Code.UNIQUE_VIOLATION)
    too_long = CreateEnrolment(OTHER, "PC-1", OTHER_CODE, 3, YEAR_S, ENROLMENT_S_MAX + 1)
    scenario.when(too_long).then_rejected(Code.VALIDATION_ERROR, field="lifetime_s")
    scenario.when(EndEnrolment(OTHER)).then_rejected(Code.NOT_FOUND)
    monkeypatch.setattr(enrolments, "ENROLMENTS_MAX", 1)
    scenario.when(code(OTHER, OTHER_CODE)).then_rejected(Code.CONFLICT, enrolments_max=1)
