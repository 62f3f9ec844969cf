"""Errors go to Sentry when somebody wants that, and then without secrets."""

from __future__ import annotations

import logging

import pytest
import sentry_sdk
import structlog
from sentry_sdk.transport import Transport

from drover.service import error_reports
from drover.service.config import ConfigurationError
from drover.service.error_reports import SentryMissing, report_errors
from drover.service.logging import configure
from tests.settings import load

BASE = {
    "DROVER_NATS_URL": "nats://nowhere:1",
    "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
    "DROVER_JWT_SECRETS": "s" * 32,
}
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9.c2lnbmF0dXJlLW9mLWl0"


@pytest.fixture
def sent():
    reports = []
    configure("json", "info")
    yield reports
    sentry_sdk.init()  # nothing is sent any more
    structlog.reset_defaults()
    logging.getLogger().handlers = []


def reporting_to(reports):
    class Keep(Transport):
        def capture_envelope(self, envelope):
            reports.append(envelope.get_event())

    return Keep


@pytest.mark.req("EV-11")
def test_nothing_is_reported_unless_somebody_asked_for_it():
    assert load(BASE).sentry_dsn is None
    assert report_errors(None, "x") is False


@pytest.mark.req("EV-11")
def test_errors_are_reported_with_what_they_say_and_warnings_are_not(sent):
    assert report_errors("https://key@sentry.example.com/1", "gateway-1", transport=reporting_to(sent))
    log = structlog.get_logger("drover.test")
    log.warning("it_rains")
    log.error("it_pours", device_id="d1")
    (report,) = sent
    assert report["level"] == "error"
    assert "it_pours" in str(report["logentry"])


@pytest.mark.req("EV-11", "SY-15")
def test_no_secret_leaves_with_a_report(sent):
    report_errors("https://key@sentry.example.com/1", "gateway-1", transport=reporting_to(sent))
    try:
        raise ValueError(f"cannot use {TOKEN} at nats://bob:hunter2@nats")
    except ValueError:
        structlog.get_logger("drover.test").exception("it_broke", password="hunter2")
    assert len(sent) == 1
    assert "hunter2" not in str(sent)
    assert TOKEN not in str(sent)


def test_what_is_no_dsn_is_refused_at_the_start():
    with pytest.raises(ConfigurationError):
        load(BASE | {"DROVER_SENTRY_DSN": "https://sentry.example.com/1"})
    assert "hush" not in repr(load(BASE | {"DROVER_SENTRY_DSN": "https://hush@sentry.example.com/1"}))


def test_without_the_library_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentry_sdk", None)
    with pytest.raises(SentryMissing):
        error_reports.report_errors("https://key@sentry.example.com/1", "x")
