"""Errors as clients see them. One table says which code has which status, the path says which shape a body has.

Under `/rest` it is PostgREST's: `{code, message, details, hint}`, always. Under `/api` and `/auth` it is
`{error, message}`, and details and hint where there are any.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import structlog
from aiohttp import web

from drover.bus.messages import Rejected
from drover.domain.errors import Code, DroverError

RETRY_AFTER_S: Final = {503: 2, 429: 60}
"""What clients are told where waiting helps, unless somebody knows better: an election takes seconds, a full intake
empties within one; agents that are not told wait 60 s after a 429."""

STATUS: Final[dict[str, int]] = {
    Code.VALIDATION_ERROR: 400,
    Code.NOT_FOUND: 404,
    Code.CONFLICT: 409,
    Code.UNIQUE_VIOLATION: 409,
    Code.STALE_ATTEMPT: 409,
    Code.NO_TESTS_LEFT: 402,
    Code.PAST_SCHEDULE: 422,
    Code.FORBIDDEN: 403,
    Code.RATE_LIMITED: 429,
    Code.IDEMPOTENCY_MISMATCH: 422,
    Code.TOO_LARGE: 413,
    Code.OVERLOADED: 503,
    Code.UNAVAILABLE: 503,
    Code.NOT_LEADER: 503,
    Code.INTERNAL: 500,
}

log = structlog.stdlib.get_logger(__name__)

_encoder: Final = msgspec.json.Encoder()
_PLAIN: Final = ("/api/", "/auth/")
_GOTRUE: Final = "/auth/"


class ApiError(DroverError):
    """A request is refused; this is what the client is told."""

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
        """`plain`: code and message under `/api` and `/auth`, where the users wrote others there than under `/rest`."""
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.hint = hint
        self.headers = headers or {}
        self.plain = plain or (code, message)
        if status in RETRY_AFTER_S:
            self.headers.setdefault("Retry-After", str(RETRY_AFTER_S[status]))

    def response(self, path: str = "") -> web.Response:
        """As it is told to whoever asked for this path."""
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
            body["error_code"] = error.lower()  # what Supabase's clients tell errors apart by
        return body | {name: value for name in ("details", "hint") if (value := getattr(self, name)) is not None}


class NotYet(ApiError):
    """Something has to be fetched before this request can be judged: await `ready`, then ask the handler once more.

    Only for refusals that come before a handler has done anything.
    """

    def __init__(self, ready: Callable[[], Awaitable[object]], message: str) -> None:
        super().__init__(503, Code.UNAVAILABLE, message, hint="Try again; nothing is wrong with the request.")
        self.ready = ready


def encode_json(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except (OverflowError, UnicodeEncodeError):  # a number or a text that a client sent and JSON of ours cannot hold
        return _encoder.encode(_encodable(value))


def _encodable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, int) and value.bit_length() > 63:
        return f"{'-' if value < 0 else ''}a number of {value.bit_length()} bits"
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def invalid(message: str, *, field: str | None = None, value: Any = None) -> ApiError:
    """400, with the field and its value where they can be told."""
    details = None if field is None else {"field": field, "value": value}
    return ApiError(400, Code.VALIDATION_ERROR, message, details=details)


def too_large(bytes_max: int) -> ApiError:
    return ApiError(413, Code.TOO_LARGE, f"The body is larger than {bytes_max} bytes", details={"bytes_max": bytes_max})


def unavailable(message: str, code: str = Code.UNAVAILABLE) -> ApiError:
    return ApiError(503, code, message, hint="Try again; nothing is wrong with the request.")


def internal(trace_id: str | None) -> ApiError:
    """What went wrong is in the log under the trace id, and nowhere else."""
    return ApiError(500, Code.INTERNAL, "Internal error", details={"trace_id": trace_id})


def refused(rejected: Rejected, trace_id: str | None) -> ApiError:
    """The refusal of a command, as HTTP."""
    status = STATUS.get(rejected.code)
    if status is None:  # a newer writer's, or one that was forgotten here: clients learn nothing, so somebody must
        log.error("unknown_rejection", code=rejected.code, message=rejected.message, details=rejected.details)
    if status is None or status == 500:
        return internal(trace_id)
    return ApiError(status, rejected.code, rejected.message, details=rejected.details)


def from_http(error: web.HTTPException) -> ApiError:
    """aiohttp's own refusals in our words."""
    return ApiError(error.status, error.reason.upper().replace(" ", "_"), error.reason)
