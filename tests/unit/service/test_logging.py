"""Logs: one JSON object a line, with the trace, without secrets."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog

from drover.service.logging import configure
from drover.service.tracing import begin, current_id


@pytest.fixture
def lines():
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.handlers, root.level
    configure("json", "info", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers, root.level = before
    structlog.reset_defaults()


def test_a_line_carries_the_trace_and_its_own_fields(lines):
    begin(None)
    structlog.stdlib.get_logger("test").info("device_registered", serial="ABC12345")
    (line,) = lines()
    assert line["event"] == "device_registered"
    assert line["serial"] == "ABC12345"
    assert line["trace_id"] == current_id()
    assert line["level"] == "info"


def test_the_standard_librarys_loggers_come_out_the_same_way(lines):
    logging.getLogger("nats.aio").warning("lost %s", "connection")
    (line,) = lines()
    assert (line["event"], line["level"], line["logger"]) == ("lost connection", "warning", "nats.aio")


def test_secrets_are_hidden_by_name_and_by_shape(lines):
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9.c2lnbmF0dXJl"
    structlog.stdlib.get_logger("test").info(
        f"connecting with {jwt} to nats://me:hunter2@host",
        api_key="hunter2",
        headers={"Authorization": "Bearer hunter2", "apikey": "hunter2", "accept": "*/*"},
        jwt_secrets=["hunter2"],
        token_count=3,
    )
    (line,) = lines()
    assert "hunter2" not in json.dumps(line)
    assert jwt not in line["event"]
    assert line["headers"]["accept"] == "*/*"
    assert line["token_count"] == 3


def test_an_exception_is_one_line(lines):
    try:
        raise ValueError("nats://me:hunter2@host is bad")
    except ValueError:
        structlog.stdlib.get_logger("test").exception("failed")
    (line,) = lines()
    assert "ValueError" in line["exception"]
    assert "hunter2" not in line["exception"]


def test_a_traceback_on_the_console_shows_no_local_variable():
    stream = io.StringIO()
    configure("console", "info", stream=stream)
    cron_secret = "hunter2-in-a-local"
    try:
        raise ValueError(f"{len(cron_secret)} is bad")
    except ValueError:
        structlog.get_logger("test").exception("failed")
    assert "is bad" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
