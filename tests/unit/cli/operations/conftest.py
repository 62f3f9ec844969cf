"""A platform that answers as it is told, for what commands make of answers. `tests/e2e/test_operating.py` uses a real
one."""

from __future__ import annotations

import sys
from functools import partial

import msgspec
import pytest
from aiohttp import web
from rich.console import Console


class Double:
    """Answers each path with what the test says, and keeps the requests."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        self.url = ""

    def answer(self, path, *bodies, status=200, headers=None):
        """Answer these bodies one after the other; the last one again and again."""
        self.answers[path] = [(status, body, headers or {}) for body in bodies]

    async def handle(self, request):
        body = await request.read()
        self.requests.append((request.method, str(request.rel_url), dict(request.headers), body))
        known = self.answers.get(request.path)
        if known is None:
            return web.json_response({"error": "NOT_FOUND", "message": "Not Found"}, status=404)
        status, content, headers = known.pop(0) if len(known) > 1 else known[0]
        raw = content if isinstance(content, bytes) else msgspec.json.encode(content)
        return web.Response(body=raw, status=status, headers=headers, content_type="application/json")


@pytest.fixture
def narrow(monkeypatch):
    """Commands print as in a terminal of this width, without its colours."""

    def set_width(columns):
        made = partial(Console, width=columns, force_terminal=True, color_system=None, markup=False, highlight=False)
        monkeypatch.setattr("drover.cli.operations.watching.console", lambda: made(file=sys.stdout))

    return set_width


@pytest.fixture
def tls():
    """The TLS context of the double; None: it serves HTTP."""
    return


@pytest.fixture
def double(background_loop, monkeypatch, drover, tls):
    """In a thread of its own, because commands have a loop of their own."""
    made = Double()

    async def start():
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", made.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        made.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    runner = background_loop.run(start())
    monkeypatch.setenv("DROVER_URL", made.url)
    monkeypatch.setenv("DROVER_KEY", "a-key")
    yield made
    background_loop.run(runner.cleanup())
