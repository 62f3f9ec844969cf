"""The chart: helm renders it, each object fits the schemas of Kubernetes, and all agrees with the code.

Without a cluster, nothing here shows that pods start. ServiceMonitor and PrometheusRule are not in those schemas.
"""

from __future__ import annotations

import json

import kubernetes_validate
import pytest
import yaml

from drover.cli.service_names import SERVICES
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.service.secret_files import SUFFIX
from tests.deploy.chart import CHART, NEWEST, container_of, environment_of, keys_of, of_kind, pods, rendered
from tests.deploy.permitted_nats import DEPLOY
from tests.deploy.programs import output, run

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
EVERYTHING = (
    "ingress.enabled=true",
    "ingress.className=nginx",
    "ingress.tlsSecret=farm-tls",
    "serviceMonitor.enabled=true",
    "serviceMonitor.labels.release=prometheus",
    "prometheusRule.enabled=true",
    "nats.caSecret=ca",
    "imagePullSecrets[0].name=registry",
    "priorityClassName=high",
    "nodeSelector.disk=ssd",
    "tolerations[0].key=farm",
    "podLabels.team=farm",
    "podAnnotations.note=x",
    "services.gateway.tag=0.2.0",
    "services.notifier.secretSettings.DROVER_ALERT_SLACK_URL=slack_url",
    "keysOfBefore=true",
    "archive.bucket=s3://farm/log",
    "archive.endpoint=https://bucket.example.com",
    "archive.region=eu-central-1",
)
OF_THE_OPERATOR = {"ServiceMonitor", "PrometheusRule"}
"""Kinds that the Prometheus operator defines; the schemas of Kubernetes do not contain them."""
OLDEST = "1.27"


def test_it_is_of_the_version_of_the_platform():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (DEPLOY.parent / "pyproject.toml").read_text()
    assert chart["kubeVersion"] == f">={OLDEST}.0-0"


@pytest.mark.req("EV-08")
def test_helm_has_nothing_to_say_against_it():
    assert "0 chart(s) failed" in output("helm", "lint", "--strict", CHART)
    flags = [flag for setting in EVERYTHING for flag in ("--set", setting)]
    assert "0 chart(s) failed" in output("helm", "lint", "--strict", CHART, *flags)


@pytest.mark.req("EV-08")
@pytest.mark.parametrize("settings", [(), EVERYTHING], ids=["as it is", "with everything"])
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_would_accept_each_of_its_objects(settings, version):
    for one in rendered(*settings):
        if one["kind"] not in OF_THE_OPERATOR:
            kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.control
@pytest.mark.parametrize(("wrong", "value"), [("replicaz", 2), ("replicas", "two")])
def test_kubernetes_would_refuse_an_object_with_a_mistake(wrong, value):
    deployment = of_kind("Deployment")["api"]
    broken = deployment | {"spec": deployment["spec"] | {wrong: value}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, NEWEST, strict=True)


def test_an_older_kubernetes_is_refused():
    refused = run("helm", "template", CHART, "--kube-version", "1.26.0")
    assert refused.returncode != 0
    assert "which is incompatible with Kubernetes v1.26.0" in refused.stderr


@pytest.mark.req("EV-01", "EV-08")
def test_every_service_is_there():
    deployments = of_kind("Deployment")
    assert set(VALUES["services"]) == set(SERVICES) == deployments.keys()
    for name, one in deployments.items():
        assert container_of(one["spec"]["template"])["args"] == ["serve", name]
        assert one["spec"]["replicas"] >= 2, "a leader and a warm standby"
    assert of_kind("NetworkPolicy").keys() == of_kind("PodDisruptionBudget").keys() == set(SERVICES)
    assert container_of(pods()["migrate"])["args"] == ["migrate"]


@pytest.mark.req("EV-01", "EV-08")
@pytest.mark.parametrize("settings", [(), EVERYTHING], ids=["as it is", "with everything"])
def test_services_budgets_and_policies_select_the_pods_of_their_component(settings):
    def selected(selector):
        return {name for name, pod in pods(*settings).items() if selector.items() <= pod["metadata"]["labels"].items()}

    for name, one in of_kind("Service", *settings).items():
        assert selected(one["spec"]["selector"]) == {name}
        ports = {port["name"] for port in container_of(pods(*settings)[name])["ports"]}
        assert {port["targetPort"] for port in one["spec"]["ports"]} <= ports
    for name, one in of_kind("NetworkPolicy", *settings).items():
        assert selected(one["spec"]["podSelector"]["matchLabels"]) == {name}
    for name, one in of_kind("PodDisruptionBudget", *settings).items():
        assert selected(one["spec"]["selector"]["matchLabels"]) == {name}
    for name, one in of_kind("Deployment", *settings).items():
        assert selected(one["spec"]["selector"]["matchLabels"]) == {name}


def test_what_a_container_reads_from_a_file_is_mounted_there():
    for name, pod in pods(*EVERYTHING).items():
        files = {value for variable, value in environment_of(pod).items() if variable.endswith(SUFFIX)}
        (ca,) = {value for value in files if value.endswith("ca.crt")}
        assert files - {ca} == keys_of(pod).keys(), name
        mounts = {mount["name"]: mount["mountPath"] for mount in container_of(pod)["volumeMounts"]}
        assert mounts.keys() == {volume["name"] for volume in pod["spec"]["volumes"]}, name
        assert mounts["secrets"] == "/run/secrets/drover"
        assert ca == f"{mounts['nats-ca']}/ca.crt"


def test_every_setting_is_one_that_drover_reads():
    for name, pod in pods(*EVERYTHING).items():
        for variable in environment_of(pod):
            if variable.startswith("DROVER_"):
                assert variable in FIELDS or variable.removesuffix(SUFFIX) in FIELDS, (name, variable)


def test_a_setting_of_a_service_beats_that_of_the_edges_and_that_of_all():
    settings = (
        "settings.DROVER_LOG_LEVEL=debug",
        "edgeSettings.DROVER_ANON=agent",
        "services.api.settings.DROVER_LOG_LEVEL=warning",
    )
    found = {name: environment_of(pod) for name, pod in pods(*settings).items()}
    assert (found["api"]["DROVER_LOG_LEVEL"], found["scheduler"]["DROVER_LOG_LEVEL"]) == ("warning", "debug")
    assert {name for name, one in found.items() if one.get("DROVER_ANON") == "agent"} == {
        "gateway",
        "api",
        "cleanup",
        "reminder",
    }


@pytest.mark.req("SE-02")
def test_the_anon_key_may_do_nothing_until_somebody_says_so():
    found = {name: environment_of(pod).get("DROVER_ANON") for name, pod in pods().items()}
    assert found == {name: "off" if name in REGISTRY and REGISTRY[name].takes_requests else None for name in found}


@pytest.mark.req("SE-07")
def test_who_takes_keys_believes_the_ingress_that_they_came_over_https():
    found = {name for name, pod in pods().items() if environment_of(pod).get("DROVER_TRUSTED_PROXIES")}
    assert found == {name for name in SERVICES if REGISTRY[name].takes_requests}


@pytest.mark.parametrize(
    "mistake",
    [
        "servces.api.replicas=1",
        "image.tga=1",
        "image.tag=latest",
        "settings.LOG_LEVEL=info",
        "services.gatway.replicas=2",
        "services.api.replicas=0",
    ],
)
def test_helm_refuses_values_with_a_mistake(mistake):
    refused = run("helm", "template", CHART, "--set", mistake)
    assert refused.returncode != 0
    assert "don't meet the specifications of the schema" in refused.stderr


def test_pods_can_do_little():
    for pod in pods().values():
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert pod["spec"]["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container_of(pod)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container_of(pod)["resources"]["limits"]["memory"]


def test_kubernetes_asks_each_service_how_it_is():
    for one in of_kind("Deployment").values():
        asked = container_of(one["spec"]["template"])
        paths = [asked[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")]
        assert paths == ["/livez", "/livez", "/readyz"]


def test_verify_has_room_where_the_notes_say_that_commands_are_run():
    assert 'fullname" . }}-api -- drover' in (CHART / "templates" / "NOTES.txt").read_text()
    sizes = {
        name: volume["emptyDir"]["sizeLimit"]
        for name, pod in pods().items()
        for volume in pod["spec"]["volumes"]
        if volume["name"] == "tmp"
    }
    assert sizes.pop("api") == "4Gi"
    assert set(sizes.values()) == {"64Mi"}


def test_the_image_is_named_by_its_digest_its_tag_or_the_version_of_the_chart():
    def image(name, *settings):
        return container_of(pods(*settings)[name])["image"]

    digest = f"image.digest=sha256:{'0' * 64}"
    assert image("api") == "drover:0.1.0"
    assert image("api", "image.tag=0.1.1") == "drover:0.1.1"
    assert image("api", digest) == f"drover@sha256:{'0' * 64}"
    assert image("gateway", digest, "services.gateway.tag=0.2.0") == "drover:0.2.0"


def test_the_rules_of_prometheus_are_those_of_deploy():
    (rule,) = of_kind("PrometheusRule", *EVERYTHING).values()
    files = sorted((DEPLOY / "prometheus" / "rules").glob("*.yaml"))
    assert rule["spec"]["groups"] == [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]


def test_prometheus_finds_every_service():
    (monitor,) = of_kind("ServiceMonitor", *EVERYTHING).values()
    labels = monitor["spec"]["selector"]["matchLabels"].items()
    services = of_kind("Service", *EVERYTHING)
    assert services.keys() == set(SERVICES)
    assert all(labels <= one["metadata"]["labels"].items() for one in services.values())
    (endpoint,) = monitor["spec"]["endpoints"]
    assert all(endpoint["port"] in [port["name"] for port in one["spec"]["ports"]] for one in services.values())


def test_a_service_that_is_switched_off_leaves_nothing_behind():
    def named(*settings):
        return {one["kind"] for one in rendered(*settings) if "-reminder" in json.dumps(one)}

    assert named() == {"Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget"}
    assert named("services.reminder.enabled=false") == set()


@pytest.mark.req("YR-07")
def test_a_roll_out_stops_an_old_pod_only_when_a_new_one_could_lead():
    for name, deployment in of_kind("Deployment").items():
        strategy = deployment["spec"]["strategy"]
        assert strategy["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}, name
        probes = container_of(deployment["spec"]["template"])
        assert probes["readinessProbe"]["httpGet"]["path"] == "/readyz", name
        assert probes["livenessProbe"]["httpGet"]["path"] == "/livez", "a pod that folds is not ready, and alive"
        assert deployment["spec"]["progressDeadlineSeconds"] == VALUES["progressDeadlineSeconds"]
