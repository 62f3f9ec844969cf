"""Requests that use a cookie must come from our own pages: a browser sends the cookie whoever asked it to."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from drover.web.errors import ApiError

HEADER: Final = "X-Drover-Csrf"
"""What callers that are no browsers send, with any value: a page of another origin cannot, without being allowed to."""


def demand_same_origin(request: web.Request) -> None:
    """403 for a request that another site made a browser send.

    `Sec-Fetch-Site` is the browser's own word and settles it. Browsers that do not say it say `Origin`. Whoever says
    neither is asked for a header that no foreign page can set.
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
            hint=f"Browsers: ask from the dashboard's own pages. Others: send the header {HEADER}.",
        )
