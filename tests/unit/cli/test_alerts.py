"""`drover alerts test` and what the doctor says about those who should be told."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import CliRunner

from drover.cli.checks import alerts as alert_check
from drover.cli.commands.alerts import alerts
from drover.cli.exits import Exit
from drover.notifier.receivers.choice import ReceiverIncomplete
from drover.outbound.signing import verify
from tests.unit.cli.test_checklist import scene

SECRET = "s" * 32


@contextmanager
def receiving(status=200):
    """In a thread: the command has an event loop of its own."""
    seen = []

    class Inbox(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append((self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Inbox)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(**environ):
    return CliRunner(env=environ).invoke(alerts, ["test"])


def test_a_test_message_goes_to_every_receiver():
    with receiving() as (url, seen):
        ran = run(
            DROVER_ALERT_SLACK_URL=f"{url}/slack",
            DROVER_ALERT_WEBHOOK_URL=f"{url}/hook",
            DROVER_ALERT_WEBHOOK_SECRETS=SECRET,
            DROVER_ALERT_ALLOW_PRIVATE="1",
        )
    assert (ran.exit_code, ran.output) == (Exit.OK, "slack: delivered\nwebhook: delivered\n")
    (place, _, raw), (other, headers, body) = seen
    assert (place, other) == ("/slack", "/hook")
    assert "This is a test" in json.loads(raw)["text"]
    assert verify(headers["Drover-Signature"], body, SECRET, time.time())


@pytest.mark.parametrize(("status", "advice"), [(404, "create a new one"), (500, "Check its address")])
def test_a_receiver_that_refuses_is_named_with_what_to_do_and_without_its_address(status, advice):
    with receiving(status) as (url, _):
        ran = run(DROVER_ALERT_SLACK_URL=f"{url}/SECRETPATH", DROVER_ALERT_ALLOW_PRIVATE="1")
    assert ran.exit_code == Exit.FAILED
    assert f"slack: was not delivered (http_{status})" in ran.output and advice in ran.output
    assert "SECRETPATH" not in ran.output


def test_nobody_to_tell_is_a_matter_of_configuration():
    ran = run()
    assert ran.exit_code == Exit.CONFIGURATION and "DROVER_ALERT_SLACK_URL" in ran.output
    assert isinstance(run(DROVER_ALERT_WEBHOOK_URL="http://x.example/").exception, ReceiverIncomplete)


@pytest.mark.parametrize(
    ("environ", "verdict", "words"),
    [
        ({}, "skipped", "dashboard only"),
        ({"DROVER_ALERT_WEBHOOK_URL": "http://x.example/"}, "fail", "without a signature"),
        ({"DROVER_ALERT_SLACK_URL": "https://hooks.example/x"}, "skipped", "to slack; NATS was not reached"),
        ({"DROVER_ALERT_SLACK_URL": "nonsense"}, "skipped", "invalid"),
    ],
)
async def test_the_doctor_knows_who_is_told(environ, verdict, words):
    found = await alert_check.alerts_are_told(scene(**environ))
    assert (found.verdict, words in found.found) == (verdict, True)
