"""The rows of the audit."""

from __future__ import annotations

from uuid import UUID

import pytest

from drover.domain.identity.audit import AccessRecorded
from drover.readmodel.events import EVENTS
from drover.readmodel.identity import ACCESSES
from tests.unit.domain.identity.test_audit import ACCESS
from tests.unit.projection.test_identity_fold import Told


@pytest.mark.req("SE-11")
def test_an_access_is_a_row_and_the_events_show_only_that_there_was_one():
    told = Told()
    told.given(AccessRecorded(ACCESS, "film", "/api/renders/7/preview", "Firefox on Windows", "sealed"))
    (row,) = told.shown(ACCESSES)
    assert row.pop("at") == told.now
    assert row == {
        "id": UUID(ACCESS),
        "by": "user:x",
        "kind": "film",
        "what": "/api/renders/7/preview",
        "user_agent": "Firefox on Windows",
        "address_sealed": "sealed",
        "trace": None,
    }
    (event,) = told.shown(EVENTS)
    assert (event["type"], event["data"]) == ("AccessRecorded", "{}")
