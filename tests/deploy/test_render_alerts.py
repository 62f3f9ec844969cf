"""The alert rules of the render queue stand at the thresholds of 003 §7.1. What holds for all rules: `test_alerts`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from drover.nas.metrics import COPY_DURATION
from drover.render.metrics import JOB_DURATION

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules" / "render.yaml"
THRESHOLDS = {
    "RenderQueueLong": ("render_queue_pending_count", "> 10"),
    "RenderSlow": ("render_job_duration_seconds", 'le="300.0"'),
    "RenderSuccessLow": ("render_job_success_rate", "< 90"),
    "RenderWorkersMissing": ("ae_worker_active_count", "< max(ae_worker_licence_count)"),
    "NexrenderSlow": ("nexrender_api_latency_ms", "> 5000"),
    "NasCopySlow": ("nas_copy_duration_seconds", 'le="60.0"'),
}


@pytest.mark.req("RN-14")
def test_there_is_an_alert_at_each_threshold_of_the_seed() -> None:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    rules = {rule["alert"]: rule["expr"] for rule in group["rules"]}
    assert rules.keys() == THRESHOLDS.keys()
    for alert, (metric, threshold) in THRESHOLDS.items():
        assert metric in rules[alert]
        assert threshold in rules[alert]


@pytest.mark.parametrize(("histogram", "bound"), [(JOB_DURATION, 300.0), (COPY_DURATION, 60.0)])
def test_what_is_asked_of_a_bucket_is_one_that_is_counted(histogram, bound) -> None:
    assert bound in histogram._upper_bounds
    assert f'le="{bound}"' in RULES.read_text(encoding="utf-8")
