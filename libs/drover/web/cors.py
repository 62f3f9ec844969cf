"""Pages of other origins: decides for which of them a browser may read our answers (CORS) and may open WebSockets.

Such pages cannot use our cookies (no Access-Control-Allow-Credentials): they send a key or a token in a header.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aiohttp import hdrs, web

from drover.service.config import Settings
from drover.web.errors import ApiError
from drover.web.same_origin import COOKIE_PATH, comes_from_here, plain_origin

OPEN: Final = ("/rest/", "/auth/", "/api/", "/realtime/")
"""The beginnings of the paths that pages of listed origins may call. The paths of the sign-in cookie (`COOKIE_PATH`)
are excepted."""
METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE"
"""Every path allows all methods here. If a path does not support the method, the page then sees the 405; otherwise the
browser would only report that something failed."""
ALLOWED: Final = (
    "Accept",
    "Accept-Profile",
    "Apikey",
    "Authorization",
    "Baggage",
    "Cache-Control",
    "Content-Profile",
    "Content-Type",
    "Drover-Min-Position",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "Prefer",
    "Range",
    "Range-Unit",
    "Traceparent",
    "Tracestate",
    "X-Client-Info",
    "X-Retry-Count",
    "X-Supabase-Api-Version",
)
"""The headers that pages of listed origins may send: those of Supabase's clients and ours. Not those that only proxies
may set, and not the header that shows that a request comes from our own pages (`same_origin.HEADER`)."""
EXPOSED: Final = (
    "Content-Disposition",
    "Content-Range",
    "Drover-Behind",
    "Drover-Export-Cut",
    "Drover-Export-Rows",
    "Drover-Ignored",
    "Drover-Poll-After",
    "Drover-Position",
    "Drover-Refused",
    "Drover-Refused-Count",
    "ETag",
    "Location",
    "Preference-Applied",
    "Retry-After",
    "WWW-Authenticate",
)
"""The headers of answers that pages of listed origins may read."""
MAX_AGE_S: Final = 7200
"""How many seconds browsers may cache the answer to a preflight. Chromium allows no more."""

_ALLOWED: Final = ", ".join(ALLOWED)
_EXPOSED: Final = ", ".join(EXPOSED)


class Cors:
    """The origins whose pages may call us. None by default: then only our own pages may."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(map(plain_origin, origins))

    @classmethod
    def of(cls, settings: Settings) -> Cors:
        return cls(settings.cors_origins)

    def install(self, app: web.Application) -> None:
        """Add CORS headers to every answer of this application, also to streams and errors. If no origins are
        configured, nothing is installed, and answers cost nothing."""
        if self._origins:
            app.on_response_prepare.append(self._mark)

    def demand_socket(self, request: web.Request) -> None:
        """Refuse a WebSocket that a page of an unlisted origin opens. The server must check this, because browsers open
        WebSockets without a preflight. Callers other than browsers send no `Origin` and are let through."""
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or plain_origin(origin) in self._origins or comes_from_here(origin, request):
            return
        raise ApiError(
            403,
            "ORIGIN_NOT_ALLOWED",
            "Pages of this origin may not open a WebSocket here",
            hint="Name the origin in DROVER_CORS_ORIGINS.",
        )

    def preflight(self, request: web.Request) -> web.Response | None:
        """Answer a preflight, the question that a browser asks before a request to another origin. Returns None if the
        request is no preflight, or its origin is not listed."""
        headers = request.headers
        if hdrs.ACCESS_CONTROL_REQUEST_METHOD not in headers or not self._allows(request):
            return None
        return web.Response(
            status=204,
            headers={
                hdrs.ACCESS_CONTROL_ALLOW_METHODS: METHODS,
                hdrs.ACCESS_CONTROL_ALLOW_HEADERS: _ALLOWED,
                hdrs.ACCESS_CONTROL_MAX_AGE: str(MAX_AGE_S),
            },
        )

    def _allows(self, request: web.Request) -> bool:
        origin = request.headers.get(hdrs.ORIGIN)
        return origin is not None and _is_open(request.path) and plain_origin(origin) in self._origins

    async def _mark(self, request: web.Request, response: web.StreamResponse) -> None:
        if hdrs.ORIGIN not in request.headers and hdrs.CACHE_CONTROL not in response.headers:  # agents and back ends
            return
        # Also for requests without an origin: a browser that caches the answer must not show it to a page of another
        # origin.
        response.headers.add(hdrs.VARY, hdrs.ORIGIN)
        if self._allows(request):
            response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = request.headers[hdrs.ORIGIN]
            response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = _EXPOSED


def _is_open(path: str) -> bool:
    return path.startswith(OPEN) and not f"{path}/".startswith(f"{COOKIE_PATH}/")
