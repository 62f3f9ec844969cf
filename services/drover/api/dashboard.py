"""Serves the dashboard's files, read and compressed once at the start. Their source is `services/dashboard`."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Final

import structlog
from aiohttp import web

from drover.hosting.service import Unlisted

SCREENS: Final = (
    "/",
    "/sign-in",
    "/fleet",
    "/queue",
    "/renders",
    "/analyses",
    "/reminders",
    "/events",
    "/alerts",
    "/system",
    "/audit",
    "/keys",
)
"""The paths of the dashboard's screens. The server answers each of them with the same HTML page."""
FILE_BYTES_MAX: Final = 8 * 1024 * 1024
KEPT: Final = "public, max-age=31536000, immutable"
"""Cache header of files whose name contains a hash of their content."""
ASKED_AGAIN: Final = "no-cache"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'self'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
_NOT_BUILT: Final = (
    b"<!doctype html><meta charset=utf-8><title>Drover</title>"
    b"<p>The dashboard has not been built. Run <code>make dashboard</code> and start again. "
    b"The API is here: <a href=/api/openapi.json>/api/openapi.json</a>"
)

log = structlog.get_logger("drover.api")


@dataclass(frozen=True)
class Page:
    """One file of the dashboard, with what its response needs."""

    body: bytes
    zipped: bytes | None
    content_type: str
    tag: str
    cache: str

    def answer(self, request: web.Request) -> web.Response:
        headers = {**HEADERS, "ETag": self.tag, "Cache-Control": self.cache, "Vary": "Accept-Encoding"}
        if request.headers.get("If-None-Match") == self.tag:
            return web.Response(status=304, headers=headers)
        body = self.body
        if self.zipped is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = self.zipped, "gzip"
        charset = "utf-8" if self.content_type.startswith(("text/", "application/javascript")) else None
        return web.Response(body=body, content_type=self.content_type, charset=charset, headers=headers)


def page(name: str, body: bytes) -> Page:
    zipped = gzip.compress(body, 9, mtime=0)
    return Page(
        body,
        zipped if len(zipped) < len(body) else None,
        guess_type(name)[0] or "application/octet-stream",
        f'"{sha256(body).hexdigest()[:32]}"',
        KEPT if name.startswith("assets/") else ASKED_AGAIN,
    )


class Dashboard:
    def __init__(self, root: Path | None) -> None:
        self._pages = {"index.html": page("index.html", _NOT_BUILT)} if root is None else _read(root)
        if root is None:
            log.warning("dashboard_not_built", remedy="make dashboard")

    def pages(self) -> list[Unlisted]:
        files = [name for name in self._pages if name != "index.html"]
        return [
            *(Unlisted("GET", path, self.screen) for path in SCREENS),
            *(Unlisted("GET", f"/{name}", self.file) for name in files),
        ]

    async def screen(self, request: web.Request) -> web.Response:
        return self._pages["index.html"].answer(request)

    async def file(self, request: web.Request) -> web.Response:
        return self._pages[request.path.removeprefix("/")].answer(request)


def _read(root: Path) -> dict[str, Page]:
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and path.stat().st_size <= FILE_BYTES_MAX
        and not path.relative_to(root).parts[0].startswith(".")
    }
    return {name: page(name, body) for name, body in found.items()}


def find_dashboard() -> Path | None:
    """Find the folder of the dashboard's files: next to this module in a wheel, the build output in a working tree.
    None: the dashboard was not built."""
    for root in (Path(str(files("drover.api"))) / "dashboard", Path(__file__).parents[2] / "dashboard" / "dist"):
        if (root / "index.html").is_file():
            return root
    return None
