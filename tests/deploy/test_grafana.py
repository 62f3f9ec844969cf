"""The dashboards of Grafana: made from their description, fresh, on metrics that there are, in PromQL that parses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.promql import faults, shown
from tools.grafana import dashboards

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "deploy" / "grafana"
FILES = sorted((GRAFANA / "dashboards").glob("*.json"))
PROMTOOL = shutil.which("promtool")
pytestmark = pytest.mark.req("EV-07")


def panels_of(dashboard: dict) -> list[dict]:
    """Those in rows that are folded too."""
    return [inner for panel in dashboard["panels"] for inner in (panel, *panel.get("panels", ()))]


def expressions() -> dict[str, str]:
    found = {}
    for file in FILES:
        dashboard = json.loads(file.read_text(encoding="utf-8"))
        for panel in panels_of(dashboard):
            for target in panel.get("targets", ()):
                found[f"{file.stem}: {panel['title']} {target['refId']}"] = target["expr"]
        for note in dashboard["annotations"]["list"]:
            found[f"{file.stem}: {note['name']}"] = note["expr"]
    return found


def test_the_dashboards_are_fresh():
    assert {dashboards.file_of(one): dashboards.text_of(one) for one in dashboards.DASHBOARDS} == {
        file: file.read_text(encoding="utf-8") for file in FILES
    }, "run `make contracts`"


def test_the_farm_renders_and_services_each_have_one_with_a_name_of_its_own():
    dashboards = [json.loads(file.read_text(encoding="utf-8")) for file in FILES]
    assert [file.stem for file in FILES] == ["farm", "renders", "services"]
    assert len({one["uid"] for one in dashboards}) == len({one["title"] for one in dashboards}) == 3
    for dashboard in dashboards:
        ids = [panel["id"] for panel in panels_of(dashboard)]
        assert len(ids) == len({*ids})


def test_every_panel_has_a_unit_a_place_of_its_own_and_fits():
    for file in FILES:
        taken: set[tuple[int, int]] = set()
        for panel in panels_of(json.loads(file.read_text(encoding="utf-8"))):
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken, panel["title"]
            assert place["x"] + place["w"] <= 24
            taken |= cells
            assert panel["type"] == "row" or panel["fieldConfig"]["defaults"]["unit"]


def test_every_expression_asks_only_for_what_somebody_shows():
    series = shown()
    assert {where: wrong for where, expr in expressions().items() if (wrong := faults(_plain(expr), series))} == {}


def test_variables_choose_from_labels_that_there_are():
    series = shown()
    for file in FILES:
        for variable in json.loads(file.read_text(encoding="utf-8"))["templating"]["list"]:
            if variable["type"] == "query":
                metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
                assert label in series[metric]


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
def test_every_expression_is_promql(tmp_path):
    rules = [{"record": f"r{n}", "expr": _plain(expr)} for n, expr in enumerate(expressions().values())]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}), encoding="utf-8")
    ended = subprocess.run([PROMTOOL, "check", "rules", file], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_grafana_finds_prometheus_and_the_dashboards_where_compose_puts_them():
    (source,) = yaml.safe_load((GRAFANA / "provisioning" / "datasources" / "prometheus.yaml").read_text())[
        "datasources"
    ]
    assert source["uid"] == dashboards.DASHBOARDS[0].json()["panels"][1]["datasource"]["uid"]
    (provider,) = yaml.safe_load((GRAFANA / "provisioning" / "dashboards" / "drover.yaml").read_text())["providers"]
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert any(one.split(":")[1] == provider["options"]["path"] for one in compose["grafana"]["volumes"])
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in compose


def _plain(expr: str) -> str:
    """Without what Grafana fills in."""
    return expr.replace("$__rate_interval", "5m").replace("$context", ".*").replace("$instance", ".*")
