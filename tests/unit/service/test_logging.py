"""Logs: one JSON object a line, with the trace, without secrets."""

from __future__ import annotations

import io
import json
import logging
import re

import pytest
import structlog

from drover.cleanup import log_lines
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


@pytest.mark.req("RM-13")
@pytest.mark.parametrize(
    ("debug", "shown"), [("", False), ("alarm", True), ("other,alarm", True), ("*", True), ("alarms", False)]
)
def test_the_namespace_alarm_is_turned_on_by_name(debug, shown):
    stream = io.StringIO()
    root, alarm = logging.getLogger(), logging.getLogger("alarm")
    before = root.handlers, root.level, alarm.level
    try:
        configure("json", "info", stream=stream, debug=debug)
        structlog.stdlib.get_logger("alarm").debug("claimed")
        structlog.stdlib.get_logger("drover.other").debug("nobody asked")
        structlog.stdlib.get_logger("alarm").info("reminder")
    finally:
        root.handlers, root.level, alarm.level = before
        structlog.reset_defaults()
    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert events == (["claimed", "reminder"] if shown else ["reminder"])


@pytest.mark.req("RM-13")
def test_the_namespace_is_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("DEBUG", "alarm")
    stream = io.StringIO()
    root, alarm = logging.getLogger(), logging.getLogger("alarm")
    before = root.handlers, root.level, alarm.level
    try:
        configure("json", "warning", stream=stream)
        structlog.stdlib.get_logger("alarm").debug("claimed")
    finally:
        root.handlers, root.level, alarm.level = before
        structlog.reset_defaults()
    assert "claimed" in stream.getvalue()


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


@pytest.mark.req("SY-15")
def test_refresh_tokens_and_addresses_are_hidden_wherever_they_stand(lines):
    token = "drt1.Qp2hubu9TmiUKcxzOw21LQ.BA549Txrg08JV4wumOCD-2INqrpl_ulD3Tytay_-0O4.he1rNO1wLgJR4y3BzAN8nw"
    log = structlog.stdlib.get_logger("test")
    log.info(
        f"refused {token}", who="Kim <kim.younghee+drover@mail.example.co.kr>", where="user@host", at="@supabase/js"
    )
    (line,) = lines()
    assert line["event"] == "refused •••"
    assert line["who"] == "Kim <•••>"
    assert (line["where"], line["at"]) == ("user@host", "@supabase/js")


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


@pytest.fixture
def plain():
    stream, root = io.StringIO(), logging.getLogger()
    before = root.handlers, root.level
    configure("plain", "info", stream=stream)
    yield lambda: re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", stream.getvalue()).splitlines()
    root.handlers, root.level = before
    structlog.reset_defaults()


@pytest.mark.req("DI-20", "SY-18")
def test_plain_lines_are_those_of_001_to_the_letter(plain, monkeypatch):
    monkeypatch.setattr(log_lines, "log", structlog.get_logger("cleanup-tests"))
    begin(None)
    log_lines.cleaned(5, ["user_abc", "user_def"], 0, 3)
    log_lines.failed("DB connection timeout")
    structlog.stdlib.get_logger("auth").info("auth: Token refreshed for user user_abc123", user_id="user_abc123")
    assert plain() == [
        "[INFO] TIME cleanup-tests: Cleaned 5 stalled tests for users [user_abc, user_def]",
        "[ERROR] TIME cleanup-tests: Failed to cleanup tests - DB connection timeout",
        "[INFO] TIME auth: Token refreshed for user user_abc123",
    ]


@pytest.mark.req("DI-20")
def test_other_plain_lines_have_their_fields_and_no_secret(plain):
    structlog.stdlib.get_logger("drover.serve").warning("slow", seconds=3, password="hunter2", url="nats://a:b@c/d")
    try:
        raise ValueError("broken")
    except ValueError:
        structlog.stdlib.get_logger("drover.serve").exception("fault")
    first, second, *trace = plain()
    assert first.startswith("[WARN] TIME drover.serve: slow seconds=3 password='•••' url='nats://•••@c/d'")
    assert second.startswith("[ERROR] TIME drover.serve: fault")
    assert trace[-1] == "ValueError: broken"
