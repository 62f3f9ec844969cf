"""The edge and the ingress: whoever asks for a path gets the service that has it."""

from __future__ import annotations

import re

import pytest

from tests.contract.routes import BY_SERVICE
from tests.deploy.chart import of_kind
from tests.deploy.permitted_nats import DEPLOY

BEHIND = ("api", "cleanup", "reminder", "gateway")
"""The services that the world reaches through it."""
PATHS = [(service, re.sub(r"\{[^}]*\}", "x", route.path)) for service in BEHIND for route in BY_SERVICE[service]]


def by_edge():
    rows = re.search(r"map \$uri \$service \{(.*?)\}", (DEPLOY / "edge" / "nginx.conf").read_text(), re.DOTALL)[1]
    pairs = [line.strip().rstrip(";").rsplit(maxsplit=1) for line in rows.strip().splitlines()]
    rules = [(pattern.strip(), service) for pattern, service in pairs]
    default = dict(rules).pop("default")

    def find(path):
        return next((name for rule, name in rules if rule[0] == "~" and re.search(rule[1:].strip(), path)), default)

    return find


def by_ingress():
    (ingress,) = of_kind("Ingress", "ingress.enabled=true").values()
    rules = ingress["spec"]["rules"][0]["http"]["paths"]

    def fits(rule, path):
        if rule["pathType"] == "Exact":
            return path == rule["path"]
        prefix = rule["path"].rstrip("/")
        return path == prefix or path.startswith(prefix + "/")

    def find(path):
        best = max((rule for rule in rules if fits(rule, path)), key=lambda rule: len(rule["path"]))
        return best["backend"]["service"]["name"].removeprefix("farm-drover-")

    return find


@pytest.mark.req("EV-01")
@pytest.mark.parametrize("find", [by_edge, by_ingress], ids=["edge", "ingress"])
def test_every_path_leads_to_the_service_that_has_it(find):
    found = find()
    assert [(path, found(path)) for service, path in PATHS if found(path) != service] == []


@pytest.mark.parametrize("find", [by_edge, by_ingress], ids=["edge", "ingress"])
def test_the_dashboard_is_the_apis(find):
    found = find()
    for path in ("/", "/fleet", "/assets/index.js", "/sign-in"):
        assert found(path) == "api"


def test_metrics_are_not_for_the_world():
    assert re.search(r"location = /metrics \{ return 404; \}", (DEPLOY / "edge" / "inside.conf").read_text())


@pytest.mark.req("DI-08")
def test_nothing_is_logged_of_requests_that_have_the_key_in_the_query():
    assert "access_log off;" in (DEPLOY / "edge" / "nginx.conf").read_text()
    inside = (DEPLOY / "edge" / "inside.conf").read_text()
    assert re.search(r"location = /realtime/v1/websocket \{\s+error_log /dev/null crit;\s+proxy_pass", inside)


def outside() -> str:
    """The server that the world reaches, up to what both servers share."""
    return re.search(
        r"server \{\s+listen 8443 ssl;(.*?)include inside.conf;",
        (DEPLOY / "edge" / "nginx.conf").read_text(),
        re.DOTALL,
    )[1]


@pytest.mark.req("SE-05", "SE-06")
def test_the_edge_limits_each_address_to_more_than_a_farm_needs():
    conf = (DEPLOY / "edge" / "nginx.conf").read_text()
    (connections,) = re.findall(r"limit_conn connections (\d+);", outside())
    assert 10_000 < int(connections) <= int(re.search(r"worker_connections (\d+)", conf)[1]) / 2, "two for each request"
    (rate,) = re.findall(r"limit_req_zone \$binary_remote_addr zone=requests:10m rate=(\d+)r/s;", conf)
    assert int(rate) >= 2_000, "10,000 phones send a heartbeat every 10 s, and poll"
    assert "limit_req zone=requests" in outside()
    for name in ("client_header_timeout", "client_body_timeout"):
        assert f"{name} 10s;" in conf, "slow requests do not hold connections"


@pytest.mark.req("SE-05")
def test_the_edge_limits_those_who_sign_in_more_than_others():
    rows = re.search(r"map \$uri \$signs_in \{(.*?)\}", (DEPLOY / "edge" / "nginx.conf").read_text(), re.DOTALL)[1]
    paths = {line.split()[0] for line in rows.strip().splitlines()} - {"default"}
    assert paths == {one.path for one in BY_SERVICE["api"] if one.id in ("gotrueToken", "signIn", "refresh")}
    assert "limit_req zone=sign_ins" in outside()


@pytest.mark.req("SE-05")
def test_whoever_the_edge_refuses_is_told_when_to_come_back():
    assert "error_page 429 = @limited;" in outside()
    assert re.search(r"location @limited \{[^}]*add_header Retry-After 1 always;\s+return 429 '\{.*\}';", outside())


@pytest.mark.req("SE-05")
def test_the_ingress_has_the_same_limits():
    (ingress,) = of_kind("Ingress", "ingress.enabled=true").values()
    notes = {name.rpartition("/")[2]: value for name, value in ingress["metadata"]["annotations"].items()}
    assert f"limit_conn connections {notes['limit-connections']};" in outside()
    assert f"rate={notes['limit-rps']}r/s;" in (DEPLOY / "edge" / "nginx.conf").read_text()
