"""Lines about work as 003 §7.3 has them: time, level, worker, job, what, progress."""

from __future__ import annotations

import io
import re

import pytest
import structlog

from drover.domain.render.state import Status
from drover.render.audit import AuditLines
from drover.render.nexrender.states import Stage
from drover.service import logging

STUCK = [(5, Stage.RENDERING, 90)]


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


def audited(shop) -> None:
    """As the process that leads the queue does: commit by commit."""
    lines = AuditLines()

    def heard(events):
        lines.tell(events)
        lines.remember(events)
        shop.tell_all(events)

    shop.office.on_events = heard


def of_level(lines: list[str], level: str) -> list[str]:
    """What comes after the time and the level."""
    return [line.partition("| ")[2] for line in lines if f"] {level:<5} |" in line]


@pytest.mark.req("DI-20", "RN-16", "RN-20")
def test_a_real_worker_logs_its_work_at_the_levels_of_003(lines, in_shop):
    async def story(shop):
        audited(shop)
        shop.nas.away = 1
        shop.request()
        shop.start()
        await shop.until_status(Status.COMPLETED)

    in_shop(story)
    debug, info, warn = (of_level(lines(), level) for level in ("DEBUG", "INFO", "WARN"))
    assert any(line.startswith("Worker#w1 | Job#1 | job claimed") for line in debug)
    assert any(line.startswith("Worker#w1 | Job#1 | job prepared") for line in debug)
    assert any(line.startswith("Worker#w1 | Job#1 | nexrender called") for line in debug)
    assert any(line.startswith("Worker#w1 | Job#1 | status: preparing → rendering (progress: ") for line in info)
    assert any(line.startswith("Worker#w1 | Job#1 | retry started (fault: NAS_AWAY") for line in info)
    assert any(line.startswith("Worker#w1 | Job#1 | file copied") for line in info)
    assert any(line.startswith("Worker#w1 | Job#1 | retry (fault: NAS_AWAY") for line in warn)
    assert not of_level(lines(), "ERROR")


@pytest.mark.req("DI-20", "RN-16", "RN-20")
def test_a_lapsed_lease_is_a_warning_and_a_crashed_worker_an_error(lines, in_shop):
    async def story(shop):
        audited(shop)
        shop.nexrender.script = [(STUCK, None, None)] * 2
        shop.request()
        shop.request()
        dead = [shop.start("w1"), shop.start("w2")]
        for number in (1, 2):
            await shop.until_status(Status.RENDERING, number)
        for task in dead:
            await shop.kill(task)
        for number in (1, 2):
            await shop.until(lambda number=number: shop.office.render(number).recovery_count == 1, 20_000.0)

    in_shop(story)
    warn, error = of_level(lines(), "WARN"), of_level(lines(), "ERROR")
    assert [line for line in warn if "stuck" in line] in (
        ["Scheduler | Recovery | Found 2 stuck jobs, releasing..."],
        ["Scheduler | Recovery | Found 1 stuck job, releasing..."] * 2,
    )
    assert [line.partition(" (")[0] for line in error if "crashed" in line] == [
        "Worker#w1 | Job#1 | worker crashed",
        "Worker#w2 | Job#2 | worker crashed",
    ]


@pytest.mark.req("DI-20", "RN-20")
def test_a_worker_that_comes_back_to_its_render_had_crashed(lines, in_shop):
    async def story(shop):
        audited(shop)
        shop.request()
        dead = shop.start("w1")
        await shop.until_status(Status.RENDERING)
        await shop.kill(dead)
        shop.start("w1")
        await shop.until_status(Status.COMPLETED)

    in_shop(story)
    (crashed,) = of_level(lines(), "ERROR")
    assert crashed.startswith("Worker#w1 | Job#1 | worker crashed")
    assert any("resuming" in line for line in of_level(lines(), "WARN"))


@pytest.mark.req("DI-20", "RN-20")
def test_a_timeout_of_nexrender_is_the_line_of_003(lines, in_shop):
    async def story(shop):
        audited(shop)
        shop.nexrender.script = [(STUCK, None, None)] * 3
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)

    in_shop(story)
    line = "Worker#w1 | Job#1 | Nexrender timeout (30min exceeded) - cancelling"
    assert of_level(lines(), "ERROR") == [line] * 3


@pytest.mark.req("DI-20", "RN-20")
def test_a_final_failure_is_an_error(lines, in_shop):
    async def story(shop):
        audited(shop)
        object.__setattr__(shop.workshop, "template", "")
        shop.request()
        shop.start()
        await shop.until_status(Status.FAILED)

    in_shop(story)
    (failed,) = of_level(lines(), "ERROR")
    assert failed.startswith("Worker#w1 | Job#1 | render failed (fault: TEMPLATE_MISSING")
