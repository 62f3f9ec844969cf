"""Query parameters: what is understood, and the sentence that refuses the rest."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import MultiDict

from drover.api.reads.parameters import FROM, LIMIT, LIMIT_MAX, flag, one_of, read_query, text, uuid
from drover.web.errors import ApiError
from tests.contract import routes

KINDS = (
    LIMIT,
    FROM,
    one_of("status", ["online", "error"], "", many=True),
    uuid("job_id", ""),
    flag("open", ""),
    text("entity", ""),
)
pytestmark = pytest.mark.req("EV-05")


ATTEMPTS = f"/api/jobs/{UUID(int=1)}/attempts"


@pytest.mark.parametrize(
    ("path", "field", "says"),
    [
        ("/api/devices?limit=0", "limit", "a number from 1 to 500"),
        ("/api/devices?limit=501", "limit", "a number from 1 to 500"),
        ("/api/devices?limit=-1", "limit", "a number from 1 to 500"),
        ("/api/devices?limit=ten", "limit", "a number from 1 to 500"),
        ("/api/devices?limit=１０", "limit", "a number from 1 to 500"),
        ("/api/devices?limit=" + "9" * 5000, "limit", "a number from 1 to 500"),
        ("/api/devices?limit=5&limit=6", "limit", "it appears twice"),
        ("/api/devices?status=asleep", "status", "it must be one of online, offline, busy, error"),
        ("/api/devices?status=online,", "status", "it must be one of online"),
        ("/api/devices?status=", "status", "it must be one of online"),
        ("/api/devices?status=" + "online," * 9, "status", "at most 8 values"),
        ("/api/devices?cursor=x", "cursor", "must be `next` of a page of this list"),
        ("/api/devices?offset=10", "offset", "is not a parameter of this: it takes pc_id, group_id"),
        ("/api/events?from=yesterday", "from", "a time such as"),
        ("/api/events?from=2026-03-01T00:00:00", "from", "a time such as"),
        ("/api/events?from=0001-01-01T00:00:00%2B09:00", "from", "a time such as"),
        ("/api/events?entity=", "entity", "1 to 256 characters"),
        ("/api/events?entity=" + "x" * 257, "entity", "1 to 256 characters"),
        ("/api/events?entity=a%00b", "entity", "invalid characters"),
        ("/api/events?type=JobDone", "type", "it must be one of"),
        ("/api/alerts?open=yes", "open", "it must be true or false"),
        ("/api/renders?broadcast_date=2026-02-30", "broadcast_date", "a date such as"),
        (f"{ATTEMPTS}?device_id=7", "device_id", "a UUID"),
        ("/api/system?limit=5", "limit", "it takes none"),
    ],
)
async def test_what_is_not_understood_is_400_with_the_field_and_a_sentence(desk, path, field, says):
    status, body = await desk.ask(path)
    assert (status, body["error"]) == (400, "VALIDATION_ERROR")
    assert says in body["message"]
    assert body["details"]["field"] == field
    assert desk.pool.asked == []


async def test_a_path_that_names_nothing_is_400_too(desk):
    for path in (
        "/api/devices/7",
        "/api/jobs/x",
        "/api/renders/one",
        "/api/renders/99999999999",
        "/api/events/fleet/x/0",
    ):
        status, body = await desk.ask(path)
        assert (status, body["error"]) == (400, "VALIDATION_ERROR"), path


def test_values_come_typed():
    asked = read_query(
        MultiDict(
            {"limit": "7", "from": "2026-03-01T09:00:00+09:00", "status": "online, error,online", "open": "false"}
        ),
        KINDS,
    )
    assert asked["limit"] == 7
    assert asked["from"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert asked["status"] == ("online", "error")
    assert asked["open"] is False
    assert asked["entity"] is None


def test_a_plus_that_was_not_escaped_is_understood():
    assert read_query(MultiDict({"from": "2026-03-01T09:00:00 09:00"}), KINDS)["from"] == datetime(
        2026, 3, 1, tzinfo=UTC
    )


@given(st.dictionaries(st.sampled_from([kind.name for kind in KINDS]), st.text(max_size=60), max_size=4))
def test_any_query_is_understood_or_refused_and_never_anything_else(query):
    refusal = None
    try:
        asked = read_query(MultiDict(query), KINDS)
    except ApiError as error:
        refusal = error
    if refusal is None:
        assert asked["limit"] is None or 1 <= asked["limit"] <= LIMIT_MAX
    else:
        assert refusal.response("/api/x").status == 400, "whatever it repeats can be sent"


def test_every_list_has_a_limit_and_a_cursor():
    for route in routes.READS:
        names = {parameter.name for parameter in route.parameters}
        if route.id.startswith("list") and route.id != "listRenderWorkers":
            assert {"limit", "cursor", "Drover-Min-Position"} <= names, route.id
