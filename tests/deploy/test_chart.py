"""The chart, as far as it can be checked without helm; and by helm, where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import jsonschema_rs
import pytest
import yaml

from drover.cli.service_names import SERVICES
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.service.secret_files import SUFFIX
from tests.deploy.permitted_nats import DEPLOY

CHART = DEPLOY / "helm" / "drover"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def traits():
    block = TEMPLATES["_helpers.tpl"].split('{{- define "drover.traits" -}}')[1].split("{{- end -}}")[0]
    return yaml.safe_load(block)


def test_it_is_of_the_version_of_the_platform():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (DEPLOY.parent / "pyproject.toml").read_text()


@pytest.mark.req("EV-01", "EV-08")
def test_every_service_is_there():
    assert set(VALUES["services"]) == set(SERVICES) == set(traits())
    assert all(one["replicas"] >= 2 for one in VALUES["services"].values()), "a leader and a warm standby"


def test_services_have_what_those_of_compose_have():
    for name, trait in traits().items():
        assert trait["database"] == (REGISTRY[name].reads_postgres)
        common = {
            f"nats_url_{name}",
            "nats_url_system",
            *(["jwt_secrets", "postgres_url"] if trait["database"] else ["inner_secrets"]),
        }
        assert {*trait["secrets"], *common} == set(COMPOSE[name]["secrets"]), name


def test_every_setting_is_one_that_drover_reads():
    text = "".join(TEMPLATES.values()) + (CHART / "values.yaml").read_text()
    for name in set(re.findall(r"DROVER_[A-Z_]+[A-Z]", text)):
        assert name in FIELDS or name.removesuffix(SUFFIX) in FIELDS, name
    for secret in {secret for trait in traits().values() for secret in trait["secrets"]}:
        assert f"DROVER_{secret.upper()}" in FIELDS


def test_the_values_are_what_their_schema_says_and_mistakes_are_not():
    check = jsonschema_rs.validator_for(SCHEMA)
    check.validate(VALUES)
    for wrong in (
        {"servces": {}},
        {"image": {"repository": "drover", "tag": "latest"}},
        {"settings": {"LOG_LEVEL": "info"}},
        {"services": VALUES["services"] | {"gatway": VALUES["services"]["gateway"]}},
        {"services": VALUES["services"] | {"api": VALUES["services"]["api"] | {"replicas": 0}}},
    ):
        assert not check.is_valid(VALUES | wrong), wrong


def test_pods_can_do_little():
    pods = TEMPLATES["_helpers.tpl"]
    for line in (
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "allowPrivilegeEscalation: false",
        "drop: [ALL]",
    ):
        assert line in pods
    for name in ("deployments.yaml", "migrate.yaml"):
        assert 'include "drover.podSecurity"' in TEMPLATES[name]
        assert 'include "drover.containerSecurity"' in TEMPLATES[name]
        assert "automountServiceAccountToken: false" in TEMPLATES[name]
    for path in ("/livez", "/readyz"):
        assert f"path: {path}" in TEMPLATES["deployments.yaml"]


def test_verify_has_room_where_the_notes_say_that_commands_are_run():
    assert 'fullname" . }}-api -- drover' in TEMPLATES["NOTES.txt"]
    assert VALUES["services"]["api"]["tmpSizeLimit"] == "4Gi"
    assert '"tmpSizeLimit" (get $service "tmpSizeLimit")' in TEMPLATES["deployments.yaml"]
    assert 'emptyDir: {sizeLimit: {{ .tmpSizeLimit | default "64Mi" }}}' in TEMPLATES["_helpers.tpl"]


def test_templates_open_and_close():
    for name, text in TEMPLATES.items():
        opened = len(re.findall(r"\{\{-? *(?:if|range|with|define)\b", text))
        assert opened == len(re.findall(r"\{\{-? *end\b", text)), name


def test_the_rules_of_prometheus_are_those_of_deploy():
    assert sorted((CHART / "rules").glob("*.yaml"))
    assert (CHART / "rules").resolve() == DEPLOY / "prometheus" / "rules"


def test_helm_renders_it(tmp_path):
    if shutil.which("helm") is None:
        pytest.skip("helm is missing")
    everything = [
        "--set",
        "ingress.enabled=true,serviceMonitor.enabled=true,prometheusRule.enabled=true,nats.caSecret=ca",
    ]
    subprocess.run(["helm", "lint", "--strict", CHART], check=True)
    rendered = subprocess.run(
        ["helm", "template", CHART, *everything], check=True, capture_output=True, text=True
    ).stdout
    kinds = [one["kind"] for one in yaml.safe_load_all(rendered) if one]
    assert kinds.count("Deployment") == len(SERVICES)
    assert kinds.count("NetworkPolicy") == len(SERVICES)
