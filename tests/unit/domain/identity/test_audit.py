"""The audit of people: an access is recorded, and leaves nothing in the state."""

from __future__ import annotations

import pytest

from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity.audit import AccessKind, AccessRecorded, RecordAccess
from drover.domain.identity.policy import SEALED_CHARS_MAX
from drover.testing.scenario import given
from tests.unit.domain.identity.world import created

ACCESS = "66666666-0000-7000-8000-000000000001"

pytestmark = pytest.mark.req("SE-11")


def accessed(**changes) -> RecordAccess:
    fields = {
        "access_id": ACCESS,
        "kind": "film",
        "what": "/api/renders/7/preview",
        "user_agent": "Firefox on Windows",
        "address_sealed": "sealed",
    }
    return RecordAccess(**fields | changes)


def test_an_access_is_recorded_as_it_is():
    recorded = AccessRecorded(ACCESS, "film", "/api/renders/7/preview", "Firefox on Windows", "sealed")
    given(IDENTITY, created()).when(accessed()).then(recorded)


def test_the_state_does_not_grow_with_accesses():
    scenario = given(IDENTITY, created())
    before = repr(scenario.state)
    scenario.when(accessed())
    assert repr(scenario.state) == before


@pytest.mark.parametrize("kind", AccessKind)
def test_every_kind_is_accepted(kind):
    assert IDENTITY.decide(IDENTITY.initial(), accessed(kind=kind.value), None).rejection is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "gossip"},
        {"what": ""},
        {"what": "x" * 301},
        {"what": "a\nb"},
        {"access_id": "7"},
        {"address_sealed": "x" * (SEALED_CHARS_MAX + 1)},
    ],
    ids=str,
)
def test_what_is_malformed_is_refused(wrong):
    decision = IDENTITY.decide(IDENTITY.initial(), accessed(**wrong), None)
    assert decision.rejection is not None
    assert decision.rejection.code == Code.VALIDATION_ERROR
