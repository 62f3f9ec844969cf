"""Protects against CSRF: a request with a cookie must come from our own pages, because browsers send cookies for any
page."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from drover.web.errors import ApiError

HEADER: Final = "X-Drover-Csrf"
"""The header that callers other than browsers send, with any value. A page of another origin cannot send it without
CORS permission."""


def demand_same_origin(request: web.Request) -> None:
    """Raise 403 for a request that a page of another site made the browser send.

    `Sec-Fetch-Site` comes from the browser itself and decides. Older browsers send `Origin`. Without either, the
    request must have a header that no foreign page can set.
    """
    headers = request.headers
    site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
    if site is not None:
        good = site == "same-origin"
    elif origin is not None:
        good = urlsplit(origin).netloc == request.host
    else:
        good = bool(headers.get(HEADER))
    if not good:
        raise ApiError(
            403,
            "CROSS_SITE",
            "This request must come from the same site",
            hint=f"Browsers: send it from the dashboard's own pages. Others: send the header {HEADER}.",
        )
