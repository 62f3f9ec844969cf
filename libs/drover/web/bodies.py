"""Reads request bodies strictly: JSON of a known type, or an error that names the wrong field. A bad body never causes
a 500."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from prometheus_client import Counter

from drover.web.errors import ApiError, invalid, too_large

T = TypeVar("T", bound=msgspec.Struct)

JSON_TYPES: Final = frozenset(
    {"application/json", "application/vnd.pgrst.object+json", "application/vnd.pgrst.array+json"}
)
_SHOWN_CHARS_MAX: Final = 200
BODY_WITHIN_S: Final = 10.0
"""How many seconds a whole body may take to arrive. Without this limit, a client that sends a byte now and then would
hold a connection and the memory of its request for ever."""
SLOW_BODIES: Final = Counter("drover_http_slow_bodies_total", "Requests dropped because their body arrived too slowly")


async def read_body(request: web.Request) -> bytes:
    """Read the bytes of a body. Its Content-Type must be JSON or missing; a body beyond the application's limit is a
    413."""
    headers = request.headers
    declared = headers.get("Content-Type")
    # Not `request.content_type`: malformed parameters can make its parser raise.
    if (
        declared is not None
        and declared != "application/json"
        and (media := declared.partition(";")[0].strip().lower()) not in JSON_TYPES
    ):
        raise ApiError(
            415,
            "UNSUPPORTED_MEDIA_TYPE",
            f"Content-Type {media[:64]} is not supported",
            hint="Send JSON, with the header Content-Type: application/json.",
        )
    return await read_bytes(request)


async def read_bytes(request: web.Request, bytes_max: int | None = None) -> bytes:
    """Read the bytes of a body of any type. If it does not arrive in time, the connection is dropped. `bytes_max`: the
    route's own limit, instead of the application's."""
    if bytes_max is not None:
        request = request.clone(client_max_size=bytes_max)
    length = request.headers.get("Content-Length")
    if length is not None and int(length) > request.client_max_size:
        raise too_large(request.client_max_size)
    try:
        content = request.content
        if not content.is_eof():
            async with asyncio.timeout(BODY_WITHIN_S):
                return await request.read()
        # A small body has usually arrived completely, so skip the loops of `read`.
        raw = content.read_nowait()
    except web.HTTPRequestEntityTooLarge as error:  # it has no Content-Length
        raise too_large(request.client_max_size) from error
    except (HttpProcessingError, web.RequestPayloadError) as error:  # a broken chunk, a broken gzip
        raise invalid("The body cannot be read") from error
    except TimeoutError as error:
        SLOW_BODIES.inc()
        _drop(request)
        raise ConnectionResetError("The body did not arrive in time") from error
    if len(raw) > request.client_max_size:  # a decompressed body may be longer than its Content-Length
        raise too_large(request.client_max_size)
    return raw


def _drop(request: web.Request) -> None:
    """Log why, and close the connection. An error answer is no use here: aiohttp would go on reading the body."""
    if request.transport is not None:
        request.transport.write(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        request.transport.close()


class Body(Generic[T]):
    """A decoder for one type of body. A valid body is decoded once. Only if that fails, the wrong field is searched
    for."""

    def __init__(self, shape: type[T]) -> None:
        self._shape = shape
        self._decoder = msgspec.json.Decoder(shape)

    def decode(self, raw: bytes) -> T:
        """Decode one object."""
        try:
            decoded = self._decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise self._reason(parse_json(raw), error) from error
        if b"\\u0000" in raw:
            _refuse_nul(parse_json(raw))
        return decoded

    def decode_many(
        self, raw: bytes, *, count_max: int, prepare: Callable[[Any, str], Any] = lambda parsed, prefix: parsed
    ) -> tuple[list[T], bool]:
        """Decode one object, or an array of them. The second value tells whether it was an array.

        `prepare` gets each parsed object and its place in the body, and returns the object to convert.
        """
        parsed = parse_json(raw)
        if not isinstance(parsed, list):
            return [self.convert(prepare(parsed, ""))], False
        if len(parsed) > count_max:
            message = f"At most {count_max} objects in one request"
            raise ApiError(413, "TOO_LARGE", message, details={"count_max": count_max})
        rows = ((item, f"[{index}].") for index, item in enumerate(parsed))
        return [self.convert(prepare(item, prefix), prefix=prefix) for item, prefix in rows], True

    def convert(self, parsed: Any, *, prefix: str = "") -> T:
        """Convert one object that is already parsed. `prefix`: its place in the body, for errors."""
        _refuse_nul(parsed, prefix)
        try:
            return msgspec.convert(parsed, self._shape)
        except (msgspec.ValidationError, ValueError) as error:
            raise self._reason(parsed, error, prefix=prefix) from error

    def _reason(self, parsed: Any, error: Exception, prefix: str = "") -> ApiError:
        """Find the wrong field by converting each field alone, because msgspec names it only in the text of its
        message."""
        if not isinstance(parsed, dict):
            return invalid("The body must be a JSON object", field=prefix.rstrip(".") or None, value=_shown(parsed))
        fields = {field.encode_name: field for field in msgspec.structs.fields(self._shape)}
        for name, value in parsed.items():
            if name not in fields:
                return invalid(f"{name[:64]} is not a known field", field=prefix + name[:64], value=_shown(value))
        for name, field in fields.items():
            if name not in parsed:
                if field.required:
                    return invalid(f"{name} is required", field=prefix + name)
                continue
            try:
                msgspec.convert(parsed[name], field.type)
            except (msgspec.ValidationError, ValueError) as fault:
                expected = str(fault).split(" - at ")[0]
                return invalid(f"{name}: {expected}", field=prefix + name, value=_shown(parsed[name]))
        return invalid(str(error))


def parse_json(raw: bytes) -> Any:
    """Parse a body into plain values. Raises 400."""
    try:
        return msgspec.json.decode(raw)
    except UnicodeDecodeError as error:
        raise invalid("The body is not valid UTF-8") from error
    except RecursionError as error:
        raise invalid("The body is nested too deeply") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise invalid(f"The body is not valid JSON: {error}") from error


def _refuse_nul(parsed: Any, prefix: str = "") -> None:
    """Refuse the character NUL, because PostgreSQL cannot store it."""
    waiting: list[tuple[str, Any]] = [("", parsed)]  # no recursion: the client chooses the depth
    while waiting:
        field, value = waiting.pop()
        if isinstance(value, str):
            if "\0" in value:
                raise invalid(
                    "Text must not contain the character NUL", field=prefix + field or None, value=_shown(value)
                )
        elif isinstance(value, dict):
            for key, item in value.items():
                # Truncate: in a deep body with long keys, full paths would take depth times size in memory.
                name = (f"{field}.{key}" if field else key)[:_SHOWN_CHARS_MAX]
                waiting += ((name.replace("\0", "\\u0000"), key), (name, item))
        elif isinstance(value, list):
            waiting += ((f"{field}[{index}]"[:_SHOWN_CHARS_MAX], item) for index, item in enumerate(value))


def _shown(value: Any) -> Any:
    """Return a value as error messages repeat it: only scalars, cut to a maximum length."""
    if isinstance(value, str):
        return value[:_SHOWN_CHARS_MAX].replace("\0", "\\u0000")
    if isinstance(value, bool | int | float) or value is None:
        return value
    return f"({'an object' if isinstance(value, dict) else 'an array'} of {len(value)})"
