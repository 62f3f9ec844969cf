"""The alert rules of the render queue: the thresholds of 003 §7.1, on metrics that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from drover.projector.render.figures import RenderFigures
from drover.render.metrics import JOB_DURATION
from drover.render.nas.metrics import COPY_DURATION
from drover.render.nexrender.metrics import LATENCY_MS

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules" / "render.yaml"
PLAYED = Path(__file__).with_name("render_alerts.yaml")
PROMTOOL = shutil.which("promtool")

THRESHOLDS = {
    "RenderQueueLong": ("render_queue_pending_count", "> 10"),
    "RenderSlow": ("render_job_duration_seconds", 'le="300.0"'),
    "RenderSuccessLow": ("render_job_success_rate", "< 90"),
    "RenderWorkersMissing": ("ae_worker_active_count", "< max(ae_worker_licence_count)"),
    "NexrenderSlow": ("nexrender_api_latency_ms", "> 5000"),
    "NasCopySlow": ("nas_copy_duration_seconds", 'le="60.0"'),
}
_RULE = re.compile(
    r"      - alert: (?P<alert>\w+)\n"
    r"        expr: (?P<expr>.+)\n"
    r"        for: \d+m\n"
    r"        labels:\n"
    r"          severity: (?:warning|critical)\n"
    r"        annotations:\n"
    r"          summary: .+\n"
    r"          runbook: .+\n"
)
_METRIC = re.compile(r"\b(?:render|ae|nexrender|nas)_\w+")


def expressions() -> dict[str, str]:
    """All of them: a rule that is written in another way would be missed, and is refused instead."""
    text = RULES.read_text(encoding="utf-8")
    found = {match["alert"]: match["expr"] for match in _RULE.finditer(text)}
    assert len(found) == text.count("alert:"), "each rule has expr, for, severity, summary and runbook, in this order"
    return found


@pytest.mark.req("RN-14")
def test_there_is_an_alert_at_each_threshold_of_the_seed() -> None:
    rules = expressions()
    assert rules.keys() == THRESHOLDS.keys()
    for alert, (metric, threshold) in THRESHOLDS.items():
        assert metric in rules[alert]
        assert threshold in rules[alert]


@pytest.mark.req("RN-14")
def test_every_metric_of_a_rule_is_one_that_somebody_shows() -> None:
    shown = {family.name for family in RenderFigures(pool=None).describe()}
    for histogram in (JOB_DURATION, COPY_DURATION, LATENCY_MS):
        (family,) = histogram.describe()
        shown |= {f"{family.name}_{part}" for part in ("count", "sum", "bucket")}
    for expression in expressions().values():
        assert set(_METRIC.findall(expression)) <= shown


@pytest.mark.parametrize(("histogram", "bound"), [(JOB_DURATION, 300.0), (COPY_DURATION, 60.0)])
def test_what_is_asked_of_a_bucket_is_one_that_is_counted(histogram, bound) -> None:
    assert bound in histogram._upper_bounds
    assert f'le="{bound}"' in RULES.read_text(encoding="utf-8")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize("command", [("check", "rules", RULES), ("test", "rules", PLAYED)], ids=["check", "play"])
def test_prometheus_takes_the_rules_and_they_fire_beyond_their_thresholds_only(command) -> None:
    ended = subprocess.run([PROMTOOL, *map(str, command)], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
