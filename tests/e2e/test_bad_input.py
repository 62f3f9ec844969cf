"""Bad input through the whole stack: 4xx with a code and the field, never 500, and nothing of it in the log."""

from __future__ import annotations

import gzip
import json

import pytest

from drover.testing.waiting import eventually
from tests.e2e.client import device

JSON = {"Content-Type": "application/json"}
GOOD = json.dumps(device("BADINPUT01")).encode()
MEGABYTES_10 = b" " * 10_000_000

BAD_BODIES = {
    "nothing": (b"", None),
    "no JSON": (b"hello", None),
    "cut off": (GOOD[:-1], None),
    "not UTF-8": (GOOD.replace(b"BADINPUT01", b"\xff\xfe"), None),
    "a number": (b"1", None),
    "nested deeply": (b"[" * 100_000, None),
    "an empty object": (b"{}", "serial_number"),
    "an unknown field": (GOOD[:-1] + b', "colour": 1}', "colour"),
    "a serial that is a number": (GOOD.replace(b'"BADINPUT01"', b"12345678"), "serial_number"),
    "a serial that is null": (GOOD.replace(b'"BADINPUT01"', b"null"), "serial_number"),
    "a serial in lower case": (GOOD.replace(b"BADINPUT01", b"badinput01"), "serial_number"),
    "a serial too short": (GOOD.replace(b"BADINPUT01", b"BAD"), "serial_number"),
    "a serial too long": (GOOD.replace(b"BADINPUT01", b"B" * 33), "serial_number"),
    "a serial with NUL": (GOOD.replace(b"BADINPUT01", b"BADINPUT\\u0000"), "serial_number"),
    "a serial that is SQL": (GOOD.replace(b"BADINPUT01", b"'; DROP TABLE devices; --"), "serial_number"),
    "a bad group": (GOOD.replace(b"P1-G1", b"G1"), "group_id"),
    "an id that is no UUID": (GOOD[:-1] + b', "id": "x"}', "id"),
    "capabilities of a wrong type": (GOOD[:-1] + b', "capabilities": [1]}', "capabilities"),
    "an array with one bad row": (b"[" + GOOD + b', {"x": 1}]', "[1].x"),
}
BAD_HEARTBEATS = {
    "nothing": (b"", None),
    "a status that is none": (b'{"status": "sleeping"}', "status"),
    "a status of a wrong type": (b'{"status": 1}', "status"),
    "a time that is none": (b'{"last_seen_at": "yesterday"}', "last_seen_at"),
    "an unknown field": (b'{"battery": 5}', "battery"),
}
BAD_READS = (
    "devices?nope=eq.1",
    "devices?select=nope",
    "devices?id=eq.nope",
    "devices?order=nope.asc",
    "devices?limit=-1x",
    "devices?serial_number=regex.x",
    "devices?or=(",
    "devices?created_at=gt.nonsense",
    "events?n=eq.99999999999999999999999",
    "devices?serial_number=eq.%00",
    "devices?serial_number=eq.%ff",
)


BY_ITSELF = {"presence", "cron"}
"""What the platform does unasked: phones fall silent, and a cleanup runs on the hour."""


LATE = {"TermStarted", "AccessRecorded"}
"""An accepted change is on record in the audit after its answer: one of a test before may come now."""
UNKNOWN_COLUMNS = ("colour", "[1].x", "battery")


def _code(field: str | None) -> str:
    """PostgREST has a code of its own for a column that the table does not have."""
    return "PGRST204" if field in UNKNOWN_COLUMNS else "VALIDATION_ERROR"


@pytest.fixture
async def unchanged(http):
    """Fails the test if it has made anybody but the shared platform's own phones do anything on record."""

    async def recorded():
        await http.catch_up()
        events = await http.rows("events", "select=context,n,by,type&order=at,context,n")
        return [event for event in events if event["by"] not in BY_ITSELF and event["type"] not in LATE]

    before = await recorded()
    yield
    assert await recorded() == before


@pytest.mark.parametrize("name", BAD_BODIES)
async def test_a_bad_registration(http, unchanged, name):
    raw, field = BAD_BODIES[name]
    answer = await http.call("POST", "/rest/v1/devices", data=raw, headers=JSON)
    assert (answer.status, answer.code) == (400, _code(field))
    assert set(answer.json) == {"code", "message", "details", "hint"}
    assert (answer.json["details"] or {}).get("field") == field


async def test_a_bad_heartbeat_is_no_sign_of_life(http):
    made = await http.register("BADBEAT001", headers={"Prefer": "return=representation"})
    for name, (raw, field) in BAD_HEARTBEATS.items():
        path = "/rest/v1/devices?serial_number=eq.BADBEAT001"
        answer = await http.call("PATCH", path, anon=True, data=raw, headers=JSON)
        assert (answer.status, answer.code) == (400, _code(field)), name
        assert (answer.json["details"] or {}).get("field") == field, name
    for filters in ("", "?status=eq.offline", "?serial_number=gt.A", "?serial_number=eq.bad", "?id=eq.x"):
        answer = await http.call("PATCH", f"/rest/v1/devices{filters}", anon=True, json={})
        assert 400 <= answer.status < 500, filters
    assert (await http.beat("BADBEAT002")).status == 404
    # A good one of another phone follows on the same way; when it has arrived, so would these have.
    (device_id,) = (row["id"] for row in made.json)
    assert (await http.register("GOODBEAT01")).status == 201
    assert (await http.beat("GOODBEAT01")).status == 204

    async def heard():
        return await http.status_of("GOODBEAT01") == "online"

    await eventually(heard)
    assert await http.status_of("BADBEAT001") == "offline"
    assert len(await http.rows("events", f"entities=cs.{{{device_id}}}")) == 1


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_ten_megabytes_are_refused_whether_declared_streamed_or_packed(http, unchanged, method):
    async def streamed():
        for _ in range(10):
            yield b" " * 1_000_000

    path = "/rest/v1/devices" + ("?serial_number=eq.BADINPUT01" if method == "PATCH" else "")
    packed = gzip.compress(MEGABYTES_10)
    for data, headers in ((MEGABYTES_10, {}), (streamed(), {}), (packed, {"Content-Encoding": "gzip"})):
        answer = await http.call(method, path, data=data, headers=JSON | headers)
        assert (answer.status, answer.code) == (413, "TOO_LARGE")
    assert (await http.get("/readyz")).status == 200


@pytest.mark.parametrize("path", BAD_READS)
async def test_a_bad_read(http, path):
    answer = await http.get(f"/rest/v1/{path}")
    assert answer.status == 400
    assert answer.code


async def test_what_nobody_expects_is_refused_too(http, unchanged):
    body = {"json": device("BADINPUT01")}
    for expected, method, path, how in (
        (415, "POST", "/rest/v1/devices", {"data": "a=b", "headers": {"Content-Type": "text/csv"}}),
        (413, "POST", "/rest/v1/devices", {"json": [device(f"BADINPUT{n:03}") for n in range(101)]}),
        (400, "POST", "/rest/v1/devices?id=eq.1", body),
        (400, "POST", "/rest/v1/devices", body | {"headers": {"Idempotency-Key": "x" * 256}}),
        (403, "POST", "/rest/v1/pcs", {"json": {"id": "P99"}, "anon": True}),
        (401, "POST", "/rest/v1/devices", body | {"headers": {"apikey": "not.a.key"}}),
        (406, "GET", "/rest/v1/devices", {"headers": {"Accept": "text/csv"}}),
        (405, "DELETE", "/rest/v1/devices?serial_number=eq.BADINPUT01", {}),
        (404, "GET", "/rest/v1/nope", {}),
        (404, "GET", "/nope", {}),
        (400, "GET", "/rest/v1/devices", {"headers": {"Drover-Min-Position": "fleet=x"}}),
    ):
        answer = await http.call(method, path, **how)
        assert (answer.status, bool(answer.code)) == (expected, True), (method, path)
