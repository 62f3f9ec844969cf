"""The dashboard over HTTP: one page for every screen, files that may be kept, nothing outside its folder."""

from __future__ import annotations

import gzip

import pytest
from aiohttp.test_utils import TestClient, TestServer

from drover.api.dashboard import SCREENS, Dashboard
from drover.hosting.service import add_unlisted
from drover.service.health import Health
from drover.web.application import create_application

SCRIPT = b"console.log('hello');\n" * 200


@pytest.fixture
async def browse(tmp_path):
    root = tmp_path / "dist"
    (root / "assets").mkdir(parents=True)
    (root / ".vite").mkdir()
    (root / "index.html").write_bytes(b"<!doctype html><div id=root></div>")
    (root / "assets" / "index-abc.js").write_bytes(SCRIPT)
    (root / ".vite" / "manifest.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("not for you")
    app = create_application(Health(), body_bytes_max=1024)
    add_unlisted(app, Dashboard(root).pages())
    async with TestClient(TestServer(app), auto_decompress=False) as client:
        yield client


@pytest.mark.req("EV-05")
@pytest.mark.parametrize("path", SCREENS)
async def test_every_screen_is_the_one_page_which_is_asked_for_again_each_time(browse, path):
    answer = await browse.get(path, headers={"Accept-Encoding": "identity"})
    assert answer.status == 200
    assert await answer.read() == b"<!doctype html><div id=root></div>"
    assert answer.headers["Cache-Control"] == "no-cache"
    policy = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["frame-ancestors"] == "'none'"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert policy["default-src"] == "'self'", "nothing is loaded from elsewhere"
    assert policy["object-src"] == policy["base-uri"] == "'none'"
    assert {source for name, sources in policy.items() if name.endswith("-src") for source in sources.split()} <= {
        "'self'",
        "'none'",
        "'unsafe-inline'",
        "data:",
    }
    assert "script-src" not in policy, "scripts only from our own files"


async def test_files_with_their_content_in_their_name_are_kept_and_come_compressed(browse):
    answer = await browse.get("/assets/index-abc.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(await answer.read()) == SCRIPT
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.content_type in ("text/javascript", "application/javascript")
    again = await browse.get("/assets/index-abc.js", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304


@pytest.mark.parametrize(
    "path", ["/.vite/manifest.json", "/assets/%2e%2e/%2e%2e/secret.txt", "/assets/nothing.js", "/index-abc.js"]
)
async def test_nothing_else_is_there(browse, path):
    assert (await browse.get(path)).status == 404


async def test_a_dashboard_that_was_not_built_says_how_to_build_it():
    app = create_application(Health(), body_bytes_max=1024)
    add_unlisted(app, Dashboard(None).pages())
    async with TestClient(TestServer(app)) as client:
        assert "make dashboard" in await (await client.get("/")).text()
