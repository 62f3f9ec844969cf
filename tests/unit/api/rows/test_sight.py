"""Who is told of which relation, and of which rows: whoever may read them."""

from __future__ import annotations

import math

import msgspec
import pytest

from drover.api.rows.sight import SEEN_MAX, OwnRows, row_filters
from drover.readmodel.models import LIVE
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.permissions import Permissions, Verb

MINE, OTHER = "018f2b5e-0000-7000-8000-00000000000a", "018f2b5e-0000-7000-8000-00000000000b"


def principal(role):
    return Principal(role, str(role), math.inf, device_id=MINE if role is Role.DEVICE else None)


def data(rows=(), gone=()):
    told = {"relation": "job_assignments", "context": "fleet", "to": 7, "rows": list(rows), "gone": list(gone)}
    return msgspec.json.encode(told)


def assignment(number, device):
    return {"id": f"a-{number}", "device_id": device}


@pytest.fixture
def own():
    return OwnRows(LIVE["job_assignments"][0], MINE)


@pytest.mark.req("SE-02")
@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("relation", sorted(LIVE))
@pytest.mark.parametrize("anon", ["off", "agent"])
def test_a_stream_may_have_what_a_read_may(role, relation, anon):
    who = principal(role)
    permissions = Permissions(anon=anon)
    if permissions.may(who, relation, Verb.READ):
        filters = row_filters(who, [relation], LIVE, permissions)
        assert (relation in filters) is permissions.demand(who, relation, Verb.READ).own
    else:
        with pytest.raises(ApiError) as refused:
            row_filters(who, [relation], LIVE, permissions)
        assert refused.value.status == 403


def test_of_others_not_even_the_keys_are_told(own):
    assert own.filter(data([assignment(1, OTHER)])) == b""
    filtered = own.filter(data([assignment(1, OTHER), assignment(2, MINE)]))
    assert OTHER.encode() not in filtered
    assert b"a-1" not in filtered
    assert msgspec.json.decode(filtered)["rows"] == [assignment(2, MINE)]


def test_a_row_that_leaves_the_callers_sight_is_gone(own):
    own.filter(data([assignment(1, MINE)]))
    filtered = msgspec.json.decode(own.filter(data([assignment(1, OTHER)])))
    assert (filtered["rows"], filtered["gone"]) == ([], [["a-1"]])
    assert own.filter(data([assignment(1, OTHER)])) == b""


def test_deleted_rows_are_gone_for_everybody(own):
    assert msgspec.json.decode(own.filter(data(gone=[["a-1"]])))["gone"] == [["a-1"]]


def test_what_a_stream_remembers_has_a_bound(own):
    for number in range(SEEN_MAX + 10):
        own._remember(b"%d" % number)
    assert len(own._seen) == SEEN_MAX
