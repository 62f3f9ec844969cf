"""Protects against CSRF: a request with a cookie must come from our own pages, because browsers send cookies for any
page."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from drover.web.errors import ApiError

HEADER: Final = "X-Drover-Csrf"
"""The header with which callers other than browsers show that no foreign page sent their request; its value does not
matter. A page of another origin cannot send it without CORS permission."""

COOKIE_PATH: Final = "/api/auth"
"""The path of the cookie with the refresh token: browsers send it only to routes below this path. Pages of other
origins may call none of them."""
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def plain_origin(origin: str) -> str:
    """Return an origin as browsers write it: in small letters, and without the port if it is the default of its
    scheme."""
    plain = origin.lower()
    return plain.removesuffix(_DEFAULT_PORTS.get(plain.partition("://")[0], ""))


def comes_from_here(origin: str, request: web.Request) -> bool:
    """Whether an `Origin` names the host that the request was sent to. The scheme is not compared: HTTPS may end at a
    proxy."""
    scheme, separator, _ = origin.partition("://")
    return bool(separator) and plain_origin(origin) == plain_origin(f"{scheme}://{request.host}")


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
        good = comes_from_here(origin, request)
    else:
        good = bool(headers.get(HEADER))
    if not good:
        raise ApiError(
            403,
            "CROSS_SITE",
            "This request must come from the same site",
            hint=f"Browsers: send it from the dashboard's own pages. Others: send the header {HEADER}.",
        )
