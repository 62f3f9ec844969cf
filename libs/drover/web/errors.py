"""Errors as clients see them. One table maps codes to statuses; the path of the request decides the form of the body.

Under `/api` and `/auth` the body is `{error, message}`, with details and hint if there are any. On all other paths it
is PostgREST's: always `{code, message, details, hint}`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import structlog
from aiohttp import web

from drover.bus.messages import Rejected
from drover.domain.errors import Code, DroverError

RETRY_AFTER_S: Final = {503: 2, 429: 60}
"""The default Retry-After in seconds, by status. For 503 it is short: electing a leader takes seconds, and a full queue
of commands empties within a second. For 429 it is the time that an agent waits if it gets no Retry-After."""
LOG_FULL_RETRY_AFTER_S: Final = 15
"""The Retry-After of LOG_FULL, in seconds. A person has to make room, and the writer checks about this often whether
there is room again."""

STATUS: Final[dict[str, int]] = {
    Code.VALIDATION_ERROR: 400,
    Code.NOT_FOUND: 404,
    Code.CONFLICT: 409,
    Code.UNIQUE_VIOLATION: 409,
    Code.STALE_ATTEMPT: 409,
    Code.ENDED_LONG_AGO: 409,
    Code.NO_TESTS_LEFT: 402,
    Code.PAST_SCHEDULE: 422,
    Code.FORBIDDEN: 403,
    Code.RATE_LIMITED: 429,
    Code.IDEMPOTENCY_MISMATCH: 422,
    Code.TOO_LARGE: 413,
    Code.OVERLOADED: 503,
    Code.LOG_FULL: 503,  # not 507: agents and Supabase's clients repeat a 503
    Code.UNAVAILABLE: 503,
    Code.NOT_LEADER: 503,
    Code.INTERNAL: 500,
}

log = structlog.stdlib.get_logger(__name__)

_encoder: Final = msgspec.json.Encoder()
_PLAIN: Final = ("/api/", "/auth/")
_GOTRUE: Final = "/auth/"


class ApiError(DroverError):
    """A refused request, as the client sees it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Any = None,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
        plain: tuple[str, str] | None = None,
    ) -> None:
        """`plain`: the code and message under `/api` and `/auth`, if they differ there. None: the same as under
        `/rest`."""
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.hint = hint
        self.headers = headers or {}
        self.plain = plain or (code, message)
        if code == Code.LOG_FULL:
            self.headers.setdefault("Retry-After", str(LOG_FULL_RETRY_AFTER_S))
        if status in RETRY_AFTER_S:
            self.headers.setdefault("Retry-After", str(RETRY_AFTER_S[status]))

    def response(self, path: str = "") -> web.Response:
        """Make the response for a request to this path."""
        body = self._plain_body(path) if path.startswith(_PLAIN) else self._rest_body()
        return web.Response(
            body=encode_json(body), status=self.status, content_type="application/json", headers=self.headers
        )

    def _rest_body(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "details": self.details, "hint": self.hint}

    def _plain_body(self, path: str) -> dict[str, Any]:
        error, message = self.plain
        body = {"error": error, "message": message}
        if path.startswith(_GOTRUE):
            body["error_code"] = error.lower()  # Supabase's clients tell errors apart by it
        return body | {name: value for name in ("details", "hint") if (value := getattr(self, name)) is not None}


class NotYet(ApiError):
    """Something must be fetched before this request can be answered: wait for `ready`, then call the handler again.

    Raise it only before the handler has had any effect.
    """

    def __init__(self, ready: Callable[[], Awaitable[object]], message: str) -> None:
        super().__init__(503, Code.UNAVAILABLE, message, hint="Try again; nothing is wrong with the request.")
        self.ready = ready


def encode_json(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except (OverflowError, UnicodeEncodeError):  # a client sent a number or text that our JSON encoder cannot encode
        return _encoder.encode(_encodable(value))


def _encodable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, int) and value.bit_length() > 63:
        return f"{'-' if value < 0 else ''}a number of {value.bit_length()} bits"
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def invalid(message: str, *, field: str | None = None, value: Any = None) -> ApiError:
    """Make a 400, with the field and its value if they are known."""
    details = None if field is None else {"field": field, "value": value}
    return ApiError(400, Code.VALIDATION_ERROR, message, details=details)


def not_found(what: str) -> ApiError:
    return ApiError(404, Code.NOT_FOUND, f"{what} not found")


def too_large(bytes_max: int) -> ApiError:
    return ApiError(413, Code.TOO_LARGE, f"The body is larger than {bytes_max} bytes", details={"bytes_max": bytes_max})


def unavailable(message: str, code: str = Code.UNAVAILABLE) -> ApiError:
    return ApiError(503, code, message, hint="Try again; nothing is wrong with the request.")


def internal(trace_id: str | None) -> ApiError:
    """Make a 500. Its cause is only in the log, under the trace id."""
    return ApiError(500, Code.INTERNAL, "Internal error", details={"trace_id": trace_id})


def refused(rejected: Rejected, trace_id: str | None) -> ApiError:
    """Make the HTTP error for the rejection of a command."""
    status = STATUS.get(rejected.code)
    if status is None:  # a code of a newer writer, or one that the table lacks: clients see a 500, so log it for us
        log.error("unknown_rejection", code=rejected.code, message=rejected.message, details=rejected.details)
    if status is None or status == 500:
        return internal(trace_id)
    error = ApiError(status, rejected.code, rejected.message, details=rejected.details)
    if rejected.details and (seconds := rejected.details.get("retry_after_s")) is not None:
        error.headers["Retry-After"] = str(math.ceil(seconds))
    return error


def from_http(error: web.HTTPException) -> ApiError:
    """Convert an error of aiohttp to ours."""
    return ApiError(error.status, error.reason.upper().replace(" ", "_"), error.reason)
