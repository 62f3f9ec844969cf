"""What a running platform shows under /metrics, judged by Prometheus' own tools, and scraped by a real Prometheus."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from drover.testing.waiting import eventually
from tests.e2e.client import calling
from tests.e2e.process import ends_with_us, free_port
from tools.metrics_document import all_metrics

ROOT = Path(__file__).parents[2]
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
needs_prometheus = pytest.mark.skipif(
    not (PROMTOOL and PROMETHEUS), reason="prometheus and promtool are not installed (Debian: prometheus)"
)
PRESCRIBED = {
    # 003 §7.1 and 004 name these; promtool would name them otherwise.
    "render_queue_pending_count": "_count",
    "ae_worker_active_count": "_count",
    "ae_worker_licence_count": "_count",
    "nexrender_api_latency_ms": "abbreviated units",
    "drover_reminder_processing_time_ms": "abbreviated units",
}
SERIES_PER_METRIC_MAX = 1000
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


@pytest.fixture
async def shown(http) -> str:
    """After some traffic, with things that must not become labels."""
    await http.register("METRICS0001")
    await http.beat("METRICS0001")
    await http.get("/rest/v1/devices?serial_number=eq.METRICS0001")
    await http.get("/no/such/path/at/all")
    answer = await http.get("/metrics")
    assert answer.status == 200
    return answer.raw.decode()


@needs_prometheus
@pytest.mark.req("EV-07")
def test_promtool_finds_nothing_to_say_about_the_metrics_of_all_services(shown):
    said = subprocess.run([PROMTOOL, "check", "metrics"], input=shown, capture_output=True, text=True, timeout=60)
    complaints = [line for line in (said.stdout + said.stderr).splitlines() if line.strip()]
    others = [
        line
        for line in complaints
        if not any(line.startswith(name) and why in line for name, why in PRESCRIBED.items())
    ]
    assert others == []


@pytest.mark.req("EV-07")
async def test_every_metric_that_is_shown_is_documented_with_its_labels(shown):
    known = {metric.name.removesuffix("_total"): metric for metric in all_metrics()}
    families = list(text_string_to_metric_families(shown))
    ours = [one for one in families if not one.name.startswith(("python_", "process_"))]
    assert [one.name for one in ours if one.name not in known] == []
    for family in ours:
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == {*known[family.name].labels}, sample
    shown_process = {one.name for one in families if one.name.startswith("process_")}
    assert {name for name in known if name.startswith("process_")} <= shown_process


@pytest.mark.req("EV-07")
async def test_no_label_holds_an_id_or_a_path_as_it_was_asked_for(shown):
    for family in text_string_to_metric_families(shown):
        assert len(family.samples) < SERIES_PER_METRIC_MAX, family.name
        for sample in family.samples:
            values = " ".join(sample.labels.values())
            assert not UUID.search(values), sample
            assert "METRICS0001" not in values, sample
            assert "/no/such" not in values, sample


@needs_prometheus
@pytest.mark.req("EV-07")
async def test_a_real_prometheus_scrapes_the_platform_loads_the_rules_and_fires(platform, tmp_path):
    """The rules as they are, but without their patience; the provoked cause is a process that is not there."""
    folder = tmp_path / "rules"
    folder.mkdir()
    for file in (ROOT / "deploy" / "prometheus" / "rules").glob("*.yaml"):
        impatient = re.sub(r"^(\s+)for: \w+$", r"\1for: 0s", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        (folder / file.name).write_text(impatient, encoding="utf-8")
    here, gone, port = f"127.0.0.1:{platform.port}", f"127.0.0.1:{free_port()}", free_port()
    config = {
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
        "rule_files": [f"{folder}/*.yaml"],
        "scrape_configs": [{"job_name": "drover", "static_configs": [{"targets": [here, gone]}]}],
    }
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    argv = [
        PROMETHEUS,
        f"--config.file={tmp_path}/prometheus.yaml",
        f"--storage.tsdb.path={tmp_path}/tsdb",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    process = await asyncio.create_subprocess_exec(*ends_with_us(argv), cwd=tmp_path)
    try:
        async with calling(f"http://127.0.0.1:{port}", "", "") as prometheus:
            await _knows(prometheus, {here: "up", gone: "down"})
            groups = (await prometheus.get("/api/v1/rules")).json["data"]["groups"]
            assert {one["name"] for one in groups} >= {
                "platform",
                "writers",
                "projections",
                "farm",
                "services",
                "render",
            }
            assert [rule["lastError"] for one in groups for rule in one["rules"] if rule.get("lastError")] == []
            await _only_what_was_provoked(prometheus, gone)
            assert (await _value(prometheus, "sum(drover_writer_leader)")) >= 5
            assert (await _value(prometheus, "min(drover_log_synced)")) == 1
    finally:
        process.terminate()
        await process.wait()


async def _knows(prometheus, targets):
    """Waits until it knows how they are. A scrape that took longer than two seconds is tried again."""

    async def both():
        try:
            answer = await prometheus.get("/api/v1/targets")
        except OSError:  # it is starting
            return False
        found = answer.json["data"]["activeTargets"] if answer.status == 200 else ()
        return {one["labels"]["instance"]: one["health"] for one in found} == targets

    await eventually(both)


async def _only_what_was_provoked(prometheus, gone):
    """The first look at the rules is before the first scrape: then every service is missing."""

    async def fired():
        alerts = (await prometheus.get("/api/v1/alerts")).json["data"]["alerts"]
        firing = {
            (one["labels"]["alertname"], one["labels"].get("instance")) for one in alerts if one["state"] == "firing"
        }
        names = {name for name, _ in firing}
        return ("TargetDown", gone) in firing and not names & {"ServiceMissing", "NoLeader", "FsyncOff", "NotReady"}

    await eventually(fired, 60)


async def _value(prometheus, expr):
    async def found():
        result = (await prometheus.get(f"/api/v1/query?query={expr}")).json["data"]["result"]
        return [float(one["value"][1]) for one in result]

    (value,) = await eventually(found, 60)
    return value
