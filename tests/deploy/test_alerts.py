"""The rules of Prometheus: on metrics that there are, each with a page of the runbook, each played by promtool."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from drover.cli.service_names import PARTS, SERVICES
from tests.deploy.promql import faults, shown

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yaml"))
RUNBOOK = ROOT / "docs" / "runbook.md"
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")


def rules_of(path: Path) -> list[dict]:
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALL = [(path, rule) for path in RULES for rule in rules_of(path)]
named = pytest.mark.parametrize(("path", "rule"), ALL, ids=[rule["alert"] for _, rule in ALL])


def played_by(path: Path) -> Path:
    return Path(__file__).with_name(f"{path.stem}_alerts.yaml")


@pytest.fixture(scope="module")
def series() -> dict[str, set[str]]:
    return shown()


@pytest.mark.req("EV-07")
@named
def test_an_alert_asks_only_for_what_somebody_shows(path, rule, series):
    assert faults(rule["expr"], series) == []


@named
def test_an_alert_says_what_is_wrong_and_what_to_do(path, rule):
    assert rule["labels"] == {"severity": rule["labels"]["severity"]}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description", "runbook"}
    file, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert ROOT / file == RUNBOOK
    assert anchor in anchors(), f"docs/runbook.md has no heading for {rule['alert']}"
    assert "for" in rule


@named
def test_an_alert_is_played(path, rule):
    assert rule["alert"] in played_by(path).read_text(encoding="utf-8")


def test_every_page_of_the_runbook_is_of_an_alert():
    assert anchors() - {rule["annotations"]["runbook"].partition("#")[2] for _, rule in ALL} == set()


def test_no_name_is_used_twice():
    names = [rule["alert"] for _, rule in ALL]
    assert len(names) == len({*names})


@needs_promtool
@pytest.mark.req("EV-07")
@pytest.mark.parametrize("path", RULES, ids=[path.stem for path in RULES])
def test_each_alert_is_silent_at_its_threshold_and_fires_beyond_it(path):
    promtool("check", "rules", path)
    promtool("test", "rules", played_by(path))


def test_a_service_that_is_missing_is_noticed_whichever_it_is():
    rule = next(rule for _, rule in ALL if rule["alert"] == "ServiceMissing")
    assert {*re.findall(r'service="(.+?)"', rule["expr"])} == {*SERVICES}


def test_every_service_of_compose_is_scraped():
    (job,) = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yaml").read_text())["scrape_configs"]
    assert {*job["dns_sd_configs"][0]["names"]} == {*SERVICES, *PARTS}


@needs_promtool
def test_prometheus_takes_its_configuration():
    promtool("check", "config", ROOT / "deploy" / "prometheus" / "prometheus.yaml")


def test_what_nobody_shows_is_found(series):
    assert faults("rate(drover_no_such_thing[5m])", series) == ["nobody shows drover_no_such_thing"]
    assert faults('drover_ready{colour="red"} == 0', series) == ["drover_ready has no label colour"]
    assert faults("sum by (colour) (drover_ready)", series) == ["none of its metrics has a label colour"]
    assert faults("drover_http_requests > 0", series) == ["nobody shows drover_http_requests"]


def anchors() -> set[str]:
    headings = re.findall(r"^### (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    return {heading.lower() for heading in headings}


def promtool(*command: object) -> None:
    ended = subprocess.run([PROMTOOL, *map(str, command)], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
