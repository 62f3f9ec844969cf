"""`drover-ready`, the health check of containers: its exit code is what the process says of itself."""

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from drover.service.ready import ask


@pytest.fixture
def process():
    class Answers(BaseHTTPRequestHandler):
        status = 200

        def do_GET(self):
            self.send_response(self.status if self.path == "/readyz" else 404)
            self.end_headers()
            self.wfile.write(b'{"nats":"NATS is not connected."}')

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, Answers
    server.shutdown()
    thread.join()
    server.server_close()


def test_ready_is_zero(process, capsys):
    port, _ = process
    assert ask(port) == 0
    assert capsys.readouterr().out == ""


def test_not_ready_is_one_and_says_why(process, capsys):
    port, answers = process
    answers.status = 503
    assert ask(port) == 1
    assert "NATS is not connected." in capsys.readouterr().out


def test_nobody_there_is_one_too(process, capsys):
    port, _ = process
    assert ask(port, "127.0.0.2") == 1
    assert "refused" in capsys.readouterr().out


def test_it_imports_nothing_of_the_platform():
    code = "import sys, drover.service.ready; print([name for name in sys.modules if name.split('.')[0] in %r])"
    heavy = ("aiohttp", "asyncpg", "msgspec", "nats", "structlog", "asyncio")
    said = subprocess.run([sys.executable, "-c", code % (heavy,)], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "[]"
