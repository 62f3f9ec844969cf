"""Lines about work as 003 §7.3 has them: time, level, worker, job, what, progress."""

from __future__ import annotations

import io
import re

import pytest
import structlog

from drover.service import logging


@pytest.fixture
def lines():
    stream = io.StringIO()
    logging.configure("console", "debug", stream=stream)
    yield lambda: stream.getvalue().splitlines()
    structlog.reset_defaults()
    logging.configure("console", "warning")


@pytest.mark.req("RN-16", "RN-20")
def test_a_change_of_status_is_one_line_with_worker_job_from_to_and_progress(lines):
    log = structlog.get_logger("drover.render").bind(worker="1", job=1, run=3)
    log.info("status", change="rendering → encoding", progress=45)
    (line,) = lines()
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] INFO  \| Worker#1 \| Job#1 \| "
        r"status: rendering → encoding \(progress: 45%\)",
        line,
    )


@pytest.mark.req("RN-20")
@pytest.mark.parametrize(("level", "shown"), [("debug", "DEBUG"), ("warning", "WARN "), ("error", "ERROR")])
def test_levels_are_those_of_003(lines, level, shown):
    getattr(structlog.get_logger("drover.render"), level)("retry", worker="ae-2", job=2, fault="NAS_AWAY")
    assert f"] {shown} | Worker#ae-2 | Job#2 | retry (fault: NAS_AWAY)" in lines()[0]


def test_a_worker_without_a_job_has_a_dash_and_other_lines_are_left_alone(lines):
    structlog.get_logger("drover.render").info("polled", worker="1")
    structlog.get_logger("drover.other").info("something", job=1)
    first, second = lines()
    assert first.endswith("| Worker#1 | - | polled")
    assert "Worker#" not in second


def test_secrets_are_hidden_in_these_lines_too(lines):
    structlog.get_logger("drover.render").warning("retry", worker="1", job=1, error="smb://bob:hunter2@nas/x")
    assert "hunter2" not in lines()[0]
