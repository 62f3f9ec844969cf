"""Makes malformed requests and frames, the same ones for the same random numbers. Pure: it sends nothing."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final
from urllib.parse import quote

import msgspec

from tests.fuzz.target import Caller
from tests.unit.evidence.pictures import JPEG, WEBP, png

DEEP: Final = 100_000
LONG: Final = 70_000
HUGE: Final = 1_200_000
"""More than DROVER_BODY_BYTES_MAX."""
SIGNS_OUT: Final = "/auth/v1/logout"
"""Ends the session of whoever calls it. No person does so here, or most of their requests would be 401."""
RARE: Final = 0.002
"""The share of requests that are large: they would take all the time."""

VALUES: Final[tuple[bytes, ...]] = (
    *(b"null", b"true", b"-1", b"0", b"-0.0", b"1e400", b"1e-400", b"2147483648", b"9223372036854775808", b"NaN"),
    *(b"[]", b"{}", b"[[]]", b'{"": null}', b'{"$ref": "#"}', b'{"__proto__": 1}', b'""', b'" "', b'"\\u0000"'),
    *(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\\', b"'single'", b"0x10", b"1_000"),
    *(b'"2026-02-30T00:00:00Z"', b'"0000-00-00"', b'"9999-12-31T23:59:59.999999+14:00"', b'"-infinity"'),
    *(b'"\' OR 1=1 --"', b'"../../../etc/passwd"', b'"%00%ff%2e%2e"', b'"${jndi:ldap://127.0.0.1}"', b'"{{7*7}}"'),
    *(b'"00000000-0000-0000-0000-000000000000"', b'"P1-G1"', b'"online"', b'"completed"', b'"\\r\\nSet-Cookie: a"'),
    '"\u202e\u0007\ufeff\U0001f4a9가"'.encode(),
    b"9" * 5000,
    b"[" * 200 + b"]" * 200,
)
NAMES: Final = ("id", "status", "", "__class__", "a" * 300, "n\\u0000", "serial_number", "select", "\\ud800")
METHODS: Final = ("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE", "BREW", "get")
OPERATORS: Final = ("eq", "neq", "gt", "in", "is", "like", "ilike", "cs", "cd", "ov", "fts", "not.eq", "not.in", "nope")
OPERANDS: Final = (
    *("1", "null", "(1,2", "(", "{a,b", "%00", "%ff", "%ED%A0%80", "a%2Cb", '("a","b', "*%25*", "-1e999", "'", '"'),
    *("9" * 400, "(" + ",".join("1" for _ in range(300)) + ")", "%5c%5c", "2026-13-45", "%F0%9F%92%A9", "(((((((("),
)
PARAMETERS: Final = (
    *(
        "select=*,jobs(*,job_assignments(*,devices(*)))",
        "select=a:b:c::text",
        "select=id->>'x'",
        "select=(",
        "select=,",
    ),
    *("select=count()", "select=*,*,*", "order=id.asc.desc", "order=id.nullsfirst,,", "order=jobs(id)", "limit=-1"),
    *(
        "limit=99999999999999999999",
        "offset=1e9",
        "or=(id.eq.1,and(",
        "and=()",
        "not.or=(x",
        "columns=id,id",
        "on_conflict=",
    ),
    *(
        "on_conflict=nope",
        "cursor=%00",
        "cursor=eyJ9",
        "after=fleet=x",
        "at=9999-99-99",
        "since=now",
        "limit=",
        "=",
        "&&&",
    ),
)
HEADERS: Final[tuple[tuple[bytes, Sequence[bytes]], ...]] = (
    (
        b"Prefer",
        (b"return=everything", b"count=exact,count=", b"handling=strict, missing=x", b"max-affected=-1", b"\xff"),
    ),
    (b"Range", (b"0-", b"9-1", b"bytes=0-0,1-1", b"bytes=-99999999999999999999", b"a-b", b"items=1-2")),
    (b"Accept", (b"text/csv", b"*/*;q=x", b"application/vnd.pgrst.object+json", b";;;", b"\x80")),
    (b"Content-Type", (b"text/plain", b"application/json; charset=\xff", b"multipart/form-data", b"a/b; =;", b"")),
    (b"Content-Encoding", (b"gzip", b"deflate", b"br", b"zstd", b"gzip, gzip", b"nope")),
    (
        b"Authorization",
        (b"Bearer", b"Bearer " + b"A" * 5000, b"Basic Og==", b"Bearer a.b.c", b"\xff", b"Bearer \xc3\xa9"),
    ),
    (b"apikey", (b"a.b.c", b"", b"eyJhbGciOiJub25lIn0.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.", b"." * 4000, b"\xe9")),
    (b"Idempotency-Key", (b"", b"x" * 300, b"\x80\x81", b"a\tb")),
    (b"traceparent", (b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"ff-x", b"\xff", b"00-" + b"f" * 400)),
    (b"Last-Event-ID", (b"fleet=-1", b"fleet=" + b"9" * 40, b"\xff", b"=;=")),
    (b"Drover-Min-Position", (b"fleet=x", b"=1", b"fleet", b"nope=1", b"fleet=-1")),
    (b"X-Forwarded-For", (b"1.1.1.1, " * 200, b"::1", b"\xff", b"127.0.0.1")),
    (b"X-Forwarded-Proto", (b"https", b"http, https", b"gopher")),
    (b"Forwarded", (b"for=127.0.0.1;proto=https", b'for="[::1', b"\xff")),
    (b"Host", (b"evil.example.com", b"a b", b"[::", b"", b"\xff")),
    (b"Origin", (b"null", b"https://evil.example.com", b"://", b"http://[::")),
    (b"Cookie", (b"drover_refresh=" + b"A" * 3000, b"=;=;=", b"drover_refresh=\xff", b"a=\x22")),
    (b"If-None-Match", (b"*", b'W/"', b'"' * 500)),
    (b"Upgrade", (b"websocket", b"h2c")),
    (b"Sec-WebSocket-Key", (b"\xff\xfe", b"short", b"A" * 24)),
    (b"Expect", (b"100-continue", b"nonsense")),
    (b"Accept-Encoding", (b"gzip;q=-1", b"\xff", b"br, zstd, *")),
    (b"Accept-Profile", (b"private", b"\xff")),
)


ASKED: Final = (
    *("15m", "1h", "30d", "-1h", "99999999d", "1H", "", "%20", "now", "0", "-1", "true", "2147483648", "9" * 400),
    *("2026-02-30", "2026-11-18T00:00:00Z", "0001-01-01T00:00:00-14:00", "9999-12-31T23:59:59%2B00:00", "1e400"),
    *(
        "2026-11-18T00:00:00",
        "%EF%BC%9D1",
        "a,b,c",
        ",",
        "online,online",
        "x" * 300,
        "%00",
        "%ff",
        "%ED%A0%80",
        "'",
        "%25",
    ),
    *("00000000-0000-4000-8000-000000000001", "P1", "fuzzed", "eyJ9", "{}", "[]", "%F0%9F%92%A9", "..%2f..%2fetc"),
)
"""Values of parameters that a route declares: times, ranges, ids, words and what is none of them."""
RUNS: Final = ("", "", "?run=1", "?run=0", "?run=-1", "?run=%D9%A3", "?run=1&run=2", "?run=99999999999", "?run=%00")
MEDIA: Final = (b"image/png", b"image/jpeg", b"image/svg+xml", b"text/html", b"application/json", b"", b"\xff/\xff")
FILE_NAMES: Final = (b"../../../etc/passwd", b"a.png\\..\\b", b"C:\\x.png", b"\x00.png", b'"; x="y', b"\xff\xfe", b"")
PAGE: Final = b"<html><script>alert(1)</script></html>"
SVG: Final = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
SAME_PICTURES: Final = tuple(png(width, 1) for width in range(1, 6))
"""Kept once, however often they come: the bound of a day does not end them."""
PICTURE_HUGE: Final = png(noise=bytes(2 * 1024 * 1024))
"""More than a picture may have."""
PACKED: Final = gzip.compress(bytes(32 * 1024 * 1024))
"""Some 32 KiB on the wire."""


class Operation(msgspec.Struct, frozen=True):
    """A route, and what a client may put into its body, its query and its path."""

    method: str
    path: str
    fields: tuple[str, ...] = ()
    id: str = ""
    asked: tuple[str, ...] = ()
    """Names of the parameters in its query."""
    choices: dict[str, tuple[str, ...]] = {}
    """The values that the document lists, by the name of the parameter."""
    takes_bytes: bool = False
    """Whether its body is a file, and not JSON."""
    is_open: bool = False
    """Whether it takes neither a key nor a token."""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class Shot(msgspec.Struct, frozen=True):
    """The bytes of one request."""

    kind: str
    data: bytes
    answered: bool = True
    """Whether an answer must come. Otherwise the client leaves at once."""
    last: bool = False
    """Whether the connection is used for nothing else after it."""
    operation: str = ""
    """The name of the operation that it is sent to. Empty: it is no request to one."""


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """All operations of an OpenAPI document."""
    found = []
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            if method in ("get", "post", "patch", "put", "delete"):
                content = described.get("requestBody", {}).get("content", {})
                names = {name for one in content.values() for name in _names(document, one.get("schema", {}), 4)}
                parameters = [_resolved(document, one) for one in described.get("parameters", ())]
                found.append(
                    Operation(
                        method.upper(),
                        path,
                        tuple(sorted(names)),
                        id=described["operationId"],
                        asked=tuple(one["name"] for one in parameters if one["in"] == "query"),
                        choices={one["name"]: values for one in parameters if (values := _choices(one["schema"]))},
                        takes_bytes=bool(content) and not any("json" in media for media in content),
                        is_open=described.get("security") == [],
                    )
                )
    return found


def _resolved(document: Mapping[str, Any], described: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a `$ref`, if this is one."""
    if "$ref" not in described:
        return described
    place: Any = document
    for part in described["$ref"].removeprefix("#/").split("/"):
        place = place[part]
    return place


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(schema.get("enum", ()) or schema.get("items", {}).get("enum", ()))


def _names(document: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> Iterator[str]:
    if "$ref" in schema and depth:
        yield from _names(document, _resolved(document, schema), depth - 1)
    yield from schema.get("properties", {})
    for alternatives in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(alternatives, ()):
            yield from _names(document, one, depth)
    if isinstance(schema.get("items"), dict):
        yield from _names(document, schema["items"], depth)


class Gunner:
    """Makes shots at a platform by its operations and callers."""

    def __init__(
        self,
        random: Random,
        operations: Sequence[Operation],
        callers: Sequence[Caller],
        known: Callable[[str, str], Sequence[str]] = lambda path, parameter: (),
    ) -> None:
        """`known`: ids that are there, for a parameter of a path."""
        self._random = random
        self._operations = operations
        self.callers = callers
        self._known = known
        self._relations = [one for one in operations if one.path.startswith("/rest/v1/") and "{" not in one.path]
        self._exports = [one for one in operations if "/export" in one.path]
        self._uploads = [one for one in operations if one.takes_bytes]

    def shot(self) -> Shot:
        kinds: Sequence[Callable[[], Shot]] = (self._body, self._query, self._header, self._upload, self._broken)
        (kind,) = self._random.choices(kinds, (46, 20, 20, 4, 10))
        return kind()

    # Well-framed requests with something wrong in them: the connection stays open.

    def _body(self) -> Shot:
        one = self._random.choice(self._operations)
        data = self._request(one.method, self._path(one), body=self.body(one.fields))
        return Shot("body", data, operation=one.name)

    def _query(self) -> Shot:
        random = self._random
        one = random.choice(
            random.choices((self._relations, self._exports, self._operations), (40, 10, 50))[0] or self._operations
        )
        filters = self._asked(one) if one.asked and not one.path.startswith("/rest/") else self._filters()
        data = self._request(one.method, f"{self._path(one)}?{filters}", body=b"" if one.method == "GET" else b"{}")
        return Shot("query", data, operation=one.name)

    def _header(self) -> Shot:
        one = self._random.choice(self._operations)
        name, values = self._random.choice(HEADERS)
        extra = name + b": " + self._random.choice(values) + b"\r\n"
        method = self._random.choice(METHODS) if self._random.random() < 0.2 else one.method
        body = self.body(one.fields)
        if self._random.random() < 0.1:
            body = gzip.compress(body)[: self._random.randrange(5, 40)]
        if method == "HEAD":
            return Shot("header", self._request("GET", self._path(one), extra=extra))
        last = name in (b"Host", b"Upgrade", b"Expect")  # these change how the connection goes on
        data = self._request(method, self._path(one), extra=extra, body=body)
        return Shot("header", data, last=last, operation=one.name if method == one.method else "")

    def _request(
        self, method: str, path: str, *, extra: bytes = b"", body: bytes = b"", length: int | None = None
    ) -> bytes:
        """`extra`: header lines, which replace those of the same name as the first. `length`: what Content-Length
        says; 0 or more, or -1 to leave it out."""
        people = not path.startswith(SIGNS_OUT)
        caller = self._random.choice([one for one in self.callers if people or "Authorization" not in one.headers])
        own = extra.partition(b":")[0].lower()
        lines = [f"{name}: {value}".encode() for name, value in caller.headers.items() if name.lower().encode() != own]
        if own != b"host":
            lines.append(b"Host: 127.0.0.1")
        if own != b"content-type" and body:
            lines.append(b"Content-Type: application/json")
        head = b"\r\n".join([f"{method} {path} HTTP/1.1".encode("utf-8", "surrogateescape"), *lines])
        claimed = b"" if length == -1 else b"Content-Length: %d\r\n" % (len(body) if length is None else length)
        return head + b"\r\n" + extra + claimed + b"\r\n" + body

    def _path(self, one: Operation) -> str:
        """The path of an operation: in every second one all ids are there, in the others most are hostile."""
        number = self._random.randrange(1_000)
        is_known = self._random.random() < 0.5

        def filled(found: re.Match[str]) -> str:
            there = self._known(one.path, found[1]) or one.choices.get(found[1], ())
            if there and (is_known or self._random.random() < 0.3):
                return quote(there[number % len(there)], safe="")
            return self._random.choice(
                (*OPERANDS[:12], "..%2f..", "0", "00000000-0000-4000-8000-000000000001", "%2e", "%EF%BC%8F", "a.b.c")
            )

        return re.sub(r"{(\w+)}", filled, one.path)

    def _asked(self, one: Operation) -> str:
        """Parameters that the operation declares, some of them right, some twice."""
        random = self._random
        made = []
        for _ in range(random.randrange(1, 5)):
            name = random.choice(one.asked)
            right = one.choices.get(name, ())
            made.append(f"{name}={random.choice(right if right and random.random() < 0.5 else ASKED)}")
        if random.random() < 0.1:
            made.append(random.choice(PARAMETERS).replace(" ", "%20"))
        return "&".join(made)

    # Files

    def _upload(self) -> Shot:
        """A picture that is none, or is sent in an odd way."""
        random = self._random
        if not self._uploads:
            return self._body()
        one = random.choice(self._uploads)
        path = self._path(one) + random.choice(RUNS)
        data = self._picture()
        type_ = b"Content-Type: " + random.choice(MEDIA) + b"\r\n"
        answered = last = True

        def sent(extra: bytes = type_, body: bytes = data, length: int | None = None) -> bytes:
            return self._request(one.method, path, extra=extra, body=body, length=length)

        match random.randrange(10):
            case 0:
                shot = sent(b"Content-Type: multipart/form-data; boundary=b\r\n", self._form(data))
            case 1:
                packed = PACKED if random.random() < RARE * 10 else gzip.compress(data)[: random.choice((20, 10**6))]
                shot = sent(type_ + b"Content-Encoding: gzip\r\n", packed)
            case 2:
                chunked = b"%x\r\n" % len(data) + data + b"\r\n0\r\n\r\n" if data else b"0\r\n\r\n"
                shot = sent(type_ + b"Transfer-Encoding: chunked\r\n", chunked, length=-1)
            case 3:
                shot = sent(length=len(data) // 2)
            case 4:
                shot, answered = sent(length=len(data) + random.choice((1, 1_000_000))), False
            case 5:
                shot = sent(length=random.choice((2**21 + 1, 2**31, 2**63)))
            case 6:
                shot = sent(type_ + b"Expect: 100-continue\r\n")
            case _:
                shot, last = sent(), len(data) > LONG
        return Shot("upload", shot, answered=answered, last=last or not answered, operation=one.name)

    def _picture(self) -> bytes:
        random = self._random
        if random.random() < RARE:
            return random.choice((PICTURE_HUGE, bytes(HUGE)))
        whole = png(noise=random.randbytes(8))
        made = (
            *(
                whole,
                whole[: random.randrange(len(whole))],
                PAGE,
                SVG,
                b"",
                b"GIF89a" + bytes(20),
                random.randbytes(99),
            ),
            *(
                JPEG,
                JPEG[:3] + PAGE + JPEG[-2:],
                WEBP,
                b"RIFF\xff\xff\xff\xffWEBP",
                base64.b64encode(whole),
                b"\x89PNG",
            ),
        )
        return random.choice(SAME_PICTURES) if random.random() < 0.3 else random.choice(made)

    def _form(self, data: bytes) -> bytes:
        name = self._random.choice(FILE_NAMES)
        disposition = b'Content-Disposition: form-data; name="file"; filename="' + name + b'"'
        return b"--b\r\n" + disposition + b"\r\nContent-Type: image/png\r\n\r\n" + data + b"\r\n--b--\r\n"

    # Filters

    def _filters(self) -> str:
        random = self._random
        made = []
        for _ in range(random.randrange(1, 4)):
            if random.random() < 0.5:
                made.append(random.choice(PARAMETERS))
            else:
                name = random.choice(("id", "status", "created_at", "jobs.id", "nope", "or", "id::text", "a->b", "%00"))
                made.append(f"{name}={random.choice(OPERATORS)}.{random.choice(OPERANDS)}")
        return "&".join(made).replace(" ", "%20").replace('"', "%22")

    # Bodies

    def body(self, fields: Sequence[str]) -> bytes:
        """JSON that is wrong somewhere, in one of many ways."""
        random = self._random
        if random.random() < RARE:
            return random.choice((b"[" * DEEP, b'{"a":' * DEEP, b'"' + b"A" * LONG + b'"', b" " * HUGE, b"[1," * LONG))
        made = self.object(fields)
        match random.randrange(8):
            case 0:
                return made[: random.randrange(len(made))]
            case 1:
                place = random.randrange(len(made))
                return made[:place] + bytes([random.randrange(256)]) + made[place + 1 :]
            case 2:
                return b"[" + b",".join([made] * random.choice((1, 2, 101))) + b"]"
            case 3:
                return (
                    random.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b""))
                    + made
                    + random.choice((b"", b"}", b"\x00"))
                )
            case 4:
                return made.decode("latin-1").encode("utf-16")
            case _:
                return made

    def object(self, fields: Sequence[str]) -> bytes:
        random = self._random
        chosen = random.sample(fields, min(len(fields), random.randrange(6))) or [random.choice(NAMES)]
        if random.random() < 0.2:
            chosen.append(random.choice((*NAMES, chosen[0])))  # an unknown name, or the same one twice
        return b"{" + b",".join(b'"%s": %s' % (name.encode(), random.choice(VALUES)) for name in chosen) + b"}"

    # What is no HTTP

    def _broken(self) -> Shot:
        random = self._random
        one = random.choice([one for one in self._operations if one.fields or one.takes_bytes] or self._operations)
        good = self._request(one.method, self._path(one), body=b"{}")
        head, _, _ = good.partition(b"Content-Length")
        half = random.randrange(1, len(good))
        junk = random.randbytes(random.randrange(1, 200))
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        answered = (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + junk + b"\r\n\r\n",  # TLS
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET  /  HTTP/1.1\r\n\r\n",
            b"GET /\x00\xff HTTP/1.1\r\nHost: a\r\n\r\n",
            b"G\xc3\x89T / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX : space\r\n\r\n",
            b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
            b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET //[:: HTTP/1.1\r\nHost: a\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            head + b"Content-Length: -1\r\n\r\n{}",
            head + b"Content-Length: 1e3\r\n\r\n{}",
            head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            head + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n{}",
            head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            head + b"Transfer-Encoding: chunked, nonsense\r\n\r\n0\r\n\r\n",
            chunked + b"zz\r\n{}\r\n0\r\n\r\n",
            chunked + b"2\r\n{}X\r\n0\r\n\r\n",
            chunked + b"-2\r\n{}\r\n0\r\n\r\n",
            chunked + b"2;" + b"a" * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
        )
        left = (
            good[:half],
            junk,
            head + b"Content-Length: 1000000\r\n\r\n{",
            chunked + b"ffffffffffffffff\r\n{",
            chunked + b"fffff\r\n{",
            head,
            b"\r\n" * 50,
            b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: a\r\n" % number for number in range(random.randrange(1, 400))),
        )
        if random.random() < 0.6:
            return Shot("broken", random.choice(answered), last=True)
        return Shot("left", random.choice(left), answered=False, last=True)

    # Frames

    def agent_frame(self) -> bytes:
        """A frame for `/agent/v1/connect`."""
        kind = self._random.choice((b"hello", b"heartbeat", b"report", b"nope", b""))
        fields = (
            "serial_number",
            "pc_id",
            "holding",
            "ref",
            "assignment_id",
            "status",
            "run",
            "progress_pct",
            "error_code",
        )
        made = self.object(fields)
        return self._frame(b'{"type": "%s",' % kind + made[1:])

    def realtime_frame(self) -> bytes:
        """A frame for `/realtime/v1/websocket`, of either version."""
        random = self._random
        event = random.choice(("phx_join", "phx_leave", "heartbeat", "broadcast", "presence", "access_token", "nope"))
        topic = random.choice(("realtime:a", "realtime:room", "phoenix", "", "realtime:" + "x" * 300))
        payload = random.choice(
            (
                self.object(("config", "access_token", "event", "type", "payload")),
                b'{"config": {"postgres_changes": [%s]}}'
                % self.object(("event", "schema", "table", "filter", "select")),
                b'{"config": {"broadcast": %s, "presence": %s}}' % (random.choice(VALUES), random.choice(VALUES)),
            )
        )
        if random.random() < 0.5:
            return self._frame(b'["1", "2", %s, %s, %s]' % (_quoted(topic), _quoted(event), payload))
        return self._frame(
            b'{"topic": %s, "event": %s, "payload": %s, "ref": "1"}' % (_quoted(topic), _quoted(event), payload)
        )

    def _frame(self, payload: bytes) -> bytes:
        random = self._random
        first, mask, length = 0x81, True, None
        match random.randrange(14):
            case 0:
                first = random.randrange(256)  # any opcode, any reserved bit, a fragment
            case 1:
                mask = False
            case 2:
                length = random.choice((2**63 - 1, 2**64 - 1, 2**20, len(payload) + 1))
            case 3:
                payload = random.randbytes(random.randrange(200))
            case 4:
                first, payload = 0x82, bytes([3]) + random.randbytes(random.randrange(60))
            case 5:
                payload = b"[" * random.choice((500, 60_000))
            case 6:
                payload = payload[: random.randrange(len(payload))]
            case 7:
                first, payload = 0x88, struct.pack(">H", random.randrange(2**16)) + b"\xff"
            case _:
                pass
        return framed(payload, first=first, mask=mask, length=length)


def framed(payload: bytes, *, first: int = 0x81, mask: bool = True, length: int | None = None) -> bytes:
    """The bytes of a WebSocket frame. `length`: what it claims to be, if that is another than it is."""
    size = len(payload) if length is None else length
    bit = 0x80 if mask else 0
    if size < 126:
        head = bytes([first, bit | size])
    elif size < 2**16:
        head = bytes([first, bit | 126]) + struct.pack(">H", size)
    else:
        head = bytes([first, bit | 127]) + struct.pack(">Q", size)
    return head + (b"\0\0\0\0" if mask else b"") + payload  # a mask of zeros changes nothing


def _quoted(text: str) -> bytes:
    return json.dumps(text).encode()
