"""Every metric is described, and docs/metrics.md says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.domain.analysis.alerts import CLEANUP_FAILED
from drover.domain.fleet.alerts import (
    HOST_FAILING,
    HOST_SILENT,
    NEEDS_RESET,
    OFFERS_UNTAKEN,
    POISON_JOB,
    RATE_LIMITED,
)
from drover.domain.identity.policy import REUSED
from drover.domain.limited_callers import CALLER_LIMITED
from drover.domain.reminder.alerts import MINUTE_CROWDED, PUSH_FAILING
from drover.domain.render.alerts import NEXRENDER_DOWN_RULE, NO_WORKER, RECOVERING, STOP_FAILED
from drover.domain.render.policy import RULES
from drover.domain.severity import SEVERITIES, severity_of
from tools.metrics_document import FILE, all_metrics, metrics_markdown

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.req("EV-07")

HIGH = {
    "id",
    "device_id",
    "job_id",
    "user_id",
    "serial",
    "serial_number",
    "pc_id",
    "page_id",
    "render_id",
    "path",
    "trace",
}
"""What must never be a label: there is no end to their values."""


def test_the_list_of_metrics_is_fresh():
    assert (ROOT / FILE).read_text(encoding="utf-8") == metrics_markdown(), "run `make contracts`"


def test_every_metric_has_a_help_text_and_bounded_labels():
    metrics = all_metrics()
    assert len(metrics) > 60
    for metric in metrics:
        assert len(metric.help) > 10, metric.name
        assert not HIGH & {*metric.labels}, metric.name


def test_metrics_of_every_kind_of_place_are_found():
    homes = {metric.package for metric in all_metrics()}
    assert homes >= {"service", "web", "bus", "postgres", "eventlog", "writer", "projection", "projector"}
    assert homes >= {"gateway", "render", "cleanup", "reminder", "api"}


def test_an_alert_that_is_not_listed_is_taken_seriously():
    assert severity_of("poison_job") == "critical"
    assert severity_of("offers_untaken") == "warning"
    assert severity_of("something_new") == "critical"
    assert {*SEVERITIES.values()} == {"critical", "warning"}


def test_every_kind_of_alert_that_a_context_raises_has_a_severity():
    fleet = {POISON_JOB, HOST_FAILING, HOST_SILENT, NEEDS_RESET, OFFERS_UNTAKEN, RATE_LIMITED}
    of_faults = {rule.alert for rule in (*RULES.values(), NEXRENDER_DOWN_RULE)}
    render = of_faults | {RECOVERING, STOP_FAILED, NO_WORKER}
    others = {CLEANUP_FAILED, REUSED, PUSH_FAILING, MINUTE_CROWDED, CALLER_LIMITED}
    assert fleet | render | others == SEVERITIES.keys()


def test_every_kind_of_alert_is_listed_for_people_and_has_its_text_on_the_dashboard():
    listed = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")
    codes = (ROOT / "services/dashboard/src/lib/i18n/codes.ts").read_text(encoding="utf-8")
    assert {kind for kind in SEVERITIES if f"`{kind}`" not in listed} == set()
    assert {kind for kind in SEVERITIES if f'"{kind}"' not in codes} == set()
