"""Listing, subscriptions, the fetch limit, and pages deleted by event."""

import base64
from datetime import UTC, datetime

import msgspec
import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.reminder.app import vapid_public_key
from drover.reminder.page_events import _answer
from drover.reminder.providers.push_keys import opened
from tests.subject_keys import local_keys
from tests.unit.reminder.conftest import VAPID
from tests.unit.reminder.test_edge_alarms import errors
from tests.unit.reminder.world import PARTITIONS

ALARMS = "/api/reminder/alarms"
SUBSCRIPTIONS = "/api/reminder/subscriptions"
BROWSER = {
    "endpoint": "https://push.example/abc",
    "expirationTime": None,
    "keys": {"p256dh": "BPk" + "x" * 84, "auth": "y" * 22},
}


def row(number):
    return {"page_id": f"page-{number}", "next_alarm_time": datetime(2026, 3, number, tzinfo=UTC)}


async def test_the_back_office_lists_anybodys_alarms_and_a_person_their_own(edge):
    edge.postgres.rows = [row(1)]
    answer, said = await edge.call("GET", ALARMS)
    assert (answer.status, said) == (
        200,
        {"alarms": [{"page_id": "page-1", "next_alarm_time": "2026-03-01T00:00:00Z"}], "after": None},
    )
    await edge.call("GET", f"{ALARMS}?user_id=u7&limit=3")
    await edge.call("GET", ALARMS, who="authenticated:me")
    assert [asked[0] for asked in edge.postgres.asked] == [None, "u7", "me"]
    answer, _ = await edge.call("GET", f"{ALARMS}?user_id=other", who="authenticated:me")
    assert answer.status == 400
    answer, _ = await edge.call("GET", ALARMS, who="anon")
    assert answer.status == 403


async def test_a_full_page_says_where_the_next_one_begins(edge):
    edge.postgres.rows = [row(1), row(2)]
    _, said = await edge.call("GET", f"{ALARMS}?limit=2")
    await edge.call("GET", f"{ALARMS}?limit=2&after={said['after']}")
    assert edge.postgres.asked[1] == (None, datetime(2026, 3, 2, tzinfo=UTC), "page-2", 2)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "limit=１", "after=x", "after=e30=", "colour=red"]
)
async def test_a_query_that_makes_no_sense_is_400(edge, query):
    edge.postgres.rows = []
    answer, said = await edge.call("GET", f"{ALARMS}?{query}")
    assert (answer.status, said["details"]["field"]) == (400, query.partition("=")[0])
    assert edge.postgres.asked == []


@pytest.mark.req("RM-14")
async def test_a_database_that_is_away_is_503_and_reported(edge):
    before = errors("database")
    answer, said = await edge.call("GET", ALARMS)
    assert (answer.status, said["error"]) == (503, "UNAVAILABLE")
    assert errors("database") == before + 1


async def test_whoever_wrote_waits_for_their_write(edge):
    edge.postgres.rows = []
    await edge.registered()
    await edge.call("GET", ALARMS)
    ((place, seq),) = edge.positions.waits
    assert place.startswith("reminder.p")
    assert seq == 1


@pytest.mark.req("RM-11")
async def test_a_browser_subscribes_and_what_is_secret_is_sealed(edge):
    answer, said = await edge.post("subscriptions", {"user_id": "u", "subscription": BROWSER})
    assert (answer.status, said["user_id"], said["channel"]) == (201, "u", "webpush")
    ((_, command),) = edge.bus.sent
    assert "push.example" not in command.sealed
    keys = local_keys("reminder", partitions=PARTITIONS, leaders=edge.leaders)
    known = await opened(keys, command.sealed, "u", said["id"])
    assert known.endpoint == BROWSER["endpoint"]
    answer, _ = await edge.call("DELETE", f"{SUBSCRIPTIONS}/{said['id']}?user_id=u")
    assert answer.status == 204
    answer, _ = await edge.call("DELETE", f"{SUBSCRIPTIONS}/{said['id']}?user_id=u")
    assert answer.status == 404


@pytest.mark.req("RM-11")
@pytest.mark.parametrize(
    "subscription",
    [
        {},
        BROWSER | {"endpoint": "http://push.example/x"},
        BROWSER | {"endpoint": "https://" + "x" * 3000},
        BROWSER | {"keys": {"p256dh": "x"}},
        BROWSER | {"keys": {"p256dh": "not base64!", "auth": "x"}},
    ],
)
async def test_what_is_no_subscription_is_400(edge, subscription):
    answer, _ = await edge.post("subscriptions", {"user_id": "u", "subscription": subscription})
    assert answer.status == 400
    assert edge.bus.sent == []


@pytest.mark.req("RM-11")
async def test_the_public_key_is_told_to_browsers(edge):
    answer, said = await edge.call("GET", "/api/reminder/vapid-public-key")
    assert (answer.status, said["public_key"]) == (200, vapid_public_key(VAPID))
    assert len(base64.urlsafe_b64decode(said["public_key"] + "=")) == 65


async def test_without_keys_nobody_subscribes_and_is_told_why(make_edge):
    edge = await make_edge(DROVER_SEALING_KEYS="", DROVER_REMINDER_VAPID_PRIVATE_KEY="")
    answer, said = await edge.post("subscriptions", {"user_id": "u", "subscription": BROWSER})
    assert (answer.status, said["error"]) == (409, "WEBPUSH_NOT_CONFIGURED")
    answer, _ = await edge.call("GET", "/api/reminder/vapid-public-key")
    assert answer.status == 409


@pytest.mark.req("RM-15")
async def test_the_fetch_limit_is_changed_in_all_partitions(edge):
    answer, said = await edge.call("PATCH", "/api/reminder/sending", {"fetch_limit": 7})
    assert (answer.status, said) == (200, {"fetch_limit": 7})
    assert {state.fetch_limit for state in edge.bus.states.values()} == {7}
    for who in ("operator:o", "admin:a"):
        answer, _ = await edge.call("PATCH", "/api/reminder/sending", {"fetch_limit": 8}, who=who)
        assert answer.status == 200
    for who in ("viewer:v", "authenticated:x", "anon"):
        answer, _ = await edge.call("PATCH", "/api/reminder/sending", {"fetch_limit": 9}, who=who)
        assert answer.status == 403
    for limit in (0, 201, "7", None):
        answer, _ = await edge.call("PATCH", "/api/reminder/sending", {"fetch_limit": limit})
        assert answer.status == 400


@pytest.mark.req("RM-05")
async def test_pages_are_deleted_by_event_too(edge):
    await edge.registered("a", "u1")
    await edge.registered("b", "u2")
    told = msgspec.json.encode({"page_ids": ["a", "b", "c"]})
    assert sorted((await _answer(edge.clients, told))["deleted"]) == ["a", "b"]
    assert await _answer(edge.clients, told) == {"deleted": []}


@pytest.mark.req("RM-05", "RM-14")
@pytest.mark.parametrize("told", [b"", b"{}", b'{"page_ids": "a"}', b'{"page_ids": ["a b"]}', b"\xff"])
async def test_an_event_that_cannot_be_read_is_answered_so(edge, told):
    assert (await _answer(edge.clients, told))["error"] == "VALIDATION_ERROR"


@pytest.mark.req("RM-14")
async def test_an_event_that_could_not_be_acted_on_is_reported(edge):
    edge.bus.refuse_with = [Rejected(Code.UNAVAILABLE, "nobody")] * 4
    before = errors("batch_update")
    assert (await _answer(edge.clients, b'{"page_ids": ["a"]}'))["error"] == "UNAVAILABLE"
    assert errors("batch_update") == before + 1
