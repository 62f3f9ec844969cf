"""Bad input: 400 or 413 with a code (and the field where it can be told), never 500, and nothing is stored."""

from __future__ import annotations

import gzip

import pytest

GOOD = b'{"serial_number": "ABC12345", "group_id": "P1-G1", "pc_id": "pc-1"}'
JSON = {"Content-Type": "application/json"}


def but(old: bytes, new: bytes) -> bytes:
    assert old in GOOD
    return GOOD.replace(old, new)


BAD_DEVICES = {
    "empty": (b"", None),
    "no JSON": (b"hello", None),
    "cut off": (GOOD[:-1], None),
    "two values": (GOOD + GOOD, None),
    "not UTF-8": (but(b"ABC12345", b"\xff\xfe"), None),
    "lone surrogate": (but(b"ABC12345", b"\\ud800"), None),
    "null": (b"null", None),
    "a number": (b"1", None),
    "a text": (b'"x"', None),
    "nothing in it": (b"{}", "serial_number"),
    "unknown field": (but(b'"pc_id"', b'"pc"'), "pc"),
    "serial is a number": (but(b'"ABC12345"', b"12345678"), "serial_number"),
    "serial is null": (but(b'"ABC12345"', b"null"), "serial_number"),
    "serial is an object": (but(b'"ABC12345"', b'{"a": 1}'), "serial_number"),
    "serial too short": (but(b"ABC12345", b"ABC"), "serial_number"),
    "serial too long": (but(b"ABC12345", b"A" * 33), "serial_number"),
    "serial in lower case": (but(b"ABC12345", b"abc12345"), "serial_number"),
    "serial with a line feed": (but(b"ABC12345", b"ABC12345\\n"), "serial_number"),
    "serial with NUL": (but(b"ABC12345", b"ABC\\u000012345"), "serial_number"),
    "serial in Korean digits": (but(b"ABC12345", "ABC１２３４５".encode()), "serial_number"),
    "serial is SQL": (but(b"ABC12345", b"'; DROP TABLE devices; --"), "serial_number"),
    "bad group": (but(b"P1-G1", b"G1"), "group_id"),
    "bad PC": (but(b"pc-1", b"pc 1"), "pc_id"),
    "id is no UUID": (but(b"}", b', "id": "x"}'), "id"),
    "capabilities is a text": (but(b"}", b', "capabilities": "x"}'), "capabilities"),
    "capability of a wrong type": (but(b"}", b', "capabilities": [1]}'), "capabilities"),
    "too many capabilities": (but(b"}", b', "capabilities": [' + b'"a",' * 40 + b'"a"]}'), "capabilities"),
    "nested deeply": (but(b'"ABC12345"', b"[" * 100_000 + b"]" * 100_000), None),
    "nested": (but(b'"ABC12345"', b"[" * 300 + b"]" * 300), "serial_number"),
    "a giant number": (but(b'"ABC12345"', b"9" * 10_000), None),
    "a giant exponent": (but(b'"ABC12345"', b"1e99999"), None),
    "array: unknown field": (b"[" + GOOD + b', {"x": 1}]', "[1].x"),
    "array: twice the same serial": (b"[" + GOOD + b"," + GOOD + b"]", "[1].serial_number"),
}


@pytest.mark.parametrize("name", BAD_DEVICES)
async def test_a_bad_device(world, name):
    raw, field = BAD_DEVICES[name]
    answer = await world.client.post("/rest/v1/devices", data=raw, headers=world.service | JSON)
    body = await answer.json()
    code = "PGRST204" if "unknown" in name else "VALIDATION_ERROR"
    assert (answer.status, body["code"]) == (400, code)
    assert list(body) == ["code", "message", "details", "hint"]
    assert (body["details"] or {}).get("field") == field
    assert world.bus.sent == []
    assert len(world.roster) == 0


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", None),
        (b"[]", None),
        (b'{"status": "sleeping"}', "status"),
        (b'{"status": 1}', "status"),
        (b'{"status": null}', "status"),
        (b'{"last_seen_at": "yesterday"}', "last_seen_at"),
        (b'{"last_seen_at": 1706524200}', "last_seen_at"),
        (b'{"serial_number": "OTHER123"}', "serial_number"),
        (b'{"status": "online", "battery": 5}', "battery"),
    ],
)
async def test_a_bad_heartbeat(world, raw, field):
    await world.register()
    url = "/rest/v1/devices?serial_number=eq.ABC12345"
    answer = await world.client.patch(url, data=raw, headers=world.anon | JSON)
    body = await answer.json()
    code = "PGRST204" if field == "battery" else "VALIDATION_ERROR"
    assert (answer.status, body["code"]) == (400, code)
    assert (body["details"] or {}).get("field") == field
    assert world.telemetry.heard == []


@pytest.mark.parametrize("capacity", [b"0", b"21", b"-1", b"1.5", b'"5"', b"null", b"9" * 25, b"true"])
async def test_a_bad_pc(world, capacity):
    raw = b'{"id": "pc-1", "capacity": ' + capacity + b"}"
    answer = await world.client.post("/rest/v1/pcs", data=raw, headers=world.service | JSON)
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["field"]) == (400, "VALIDATION_ERROR", "capacity")
    assert world.bus.sent == []


async def test_ten_megabytes_are_413_whether_or_not_their_length_is_declared(world):
    async def chunks():
        for _ in range(160):
            yield b" " * 65536

    for data in (b" " * 10_000_000, chunks()):
        for method, path in (("POST", "devices"), ("PATCH", "devices?serial_number=eq.ABC12345")):
            if not isinstance(data, bytes):
                data = chunks()
            headers = world.service | JSON
            answer = await world.client.request(method, f"/rest/v1/{path}", data=data, headers=headers)
            assert (answer.status, (await answer.json())["code"]) == (413, "TOO_LARGE")


async def test_ten_megabytes_packed_small_are_413_too(world):
    headers = world.service | JSON | {"Content-Encoding": "gzip"}
    packed = gzip.compress(b" " * 10_000_000)
    answer = await world.client.post("/rest/v1/devices", data=packed, headers=headers)
    assert (answer.status, (await answer.json())["code"]) == (413, "TOO_LARGE")


async def test_broken_gzip_is_400(world):
    headers = world.service | JSON | {"Content-Encoding": "gzip"}
    answer = await world.client.post("/rest/v1/devices", data=b"\x1f\x8bnonsense", headers=headers)
    assert answer.status == 400


async def test_a_hundred_and_one_rows_are_413(world):
    raw = b"[" + b",".join([GOOD] * 101) + b"]"
    answer = await world.client.post("/rest/v1/devices", data=raw, headers=world.service | JSON)
    assert (answer.status, (await answer.json())["code"]) == (413, "TOO_LARGE")


async def test_a_body_of_another_kind_is_415_and_of_no_kind_is_read_as_json(world):
    form = world.service | {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await world.client.post("/rest/v1/devices", data=b"a=1", headers=form)
    assert answer.status == 415
    answer = await world.client.post(
        "/rest/v1/devices", data=GOOD, headers=world.service, skip_auto_headers=["Content-Type"]
    )
    assert answer.status == 201


async def test_paths_and_methods_that_are_not_there(world):
    for method, path, status, code in (
        ("GET", "/rest/v1/nope", 404, "PGRST205"),
        ("POST", "/rest/v1/rpc/nope", 404, "PGRST202"),
        ("DELETE", "/rest/v1/devices", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/nope", 404, "NOT_FOUND"),
    ):
        answer = await world.client.request(method, path, headers=world.service)
        assert (answer.status, (await answer.json())["code"]) == (status, code), path
    assert (await world.client.get("/rest/v1/nope")).status == 401


async def test_a_page_of_another_origin_gets_no_permission(world):
    """Nothing is listed here, so a browser keeps such a page from reading the answer, or from asking."""
    origin = {"Origin": "https://elsewhere.example.com"}
    asked = origin | {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "apikey"}
    for answer in (
        await world.client.options("/rest/v1/devices", headers=asked),
        await world.client.get("/rest/v1/devices", headers=world.service | origin),
    ):
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("nope=eq.1", {}, 400, "42703"),
        ("id=eq.x", {}, 400, "22P02"),
        ("status=online", {}, 400, "PGRST100"),
        ("serial_number=eq.%00", {}, 400, "PGRST100"),
        ("serial_number=eq.%FF", {}, 400, "PGRST100"),
        ("select=*,jobs(*)", {}, 400, "PGRST200"),
        ("limit=-1", {}, 416, "PGRST103"),
        ("", {"Accept-Profile": "private"}, 406, "PGRST106"),
        ("", {"Accept": "text/csv"}, 406, "PGRST107"),
        ("", {"Drover-Min-Position": "fleet=x"}, 400, "VALIDATION_ERROR"),
        ("", {"Prefer": "handling=strict, x=y"}, 400, "PGRST122"),
    ],
)
async def test_a_bad_read_does_not_reach_the_database(world, query, headers, status, code):
    answer = await world.client.get(f"/rest/v1/devices?{query}", headers=world.anon | headers)
    assert (answer.status, (await answer.json())["code"]) == (status, code)
    assert world.pool.asked == 0


async def test_a_content_type_that_breaks_parsers_is_no_500(world):
    await world.register()
    headers = world.anon | {"Content-Type": "application/json; x*" + "9" * 4400 + "=b"}
    answer = await world.client.patch("/rest/v1/devices?serial_number=eq.ABC12345", data=b"{}", headers=headers)
    assert answer.status == 204
