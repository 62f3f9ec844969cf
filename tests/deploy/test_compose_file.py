"""`deploy/compose.yaml`: every service is there, with settings that exist, and no more rights than it needs.

Docker Compose reads and resolves the file. That containers start is shown by `test_compose_up.py`, with CONTAINERS=1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import jwt
import msgspec
import pytest
import yaml

from drover.cli.service_names import PARTS, SERVICES
from drover.embedded.credentials import Credentials
from drover.notifier.settings import AlertSettings
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.service.config import Settings
from drover.service.identity_keys import IdentityKeys
from drover.service.secret_files import SUFFIX, read_secret_files
from tests.deploy.compose import ALL, FILE, OURS, TEXT, given_to, resolved_in, set_up
from tests.deploy.permitted_nats import DEPLOY
from tests.settings import load
from tools.nats_users import USERS

WITH_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing: it makes secrets")
PUBLISHED = {"nats-1", "nats-2", "nats-3", "edge", "prometheus", "grafana"}


def environment(name):
    return ALL[name].get("environment") or {}


@pytest.fixture(scope="module")
def resolved():
    """The project with all profiles."""
    return resolved_in(DEPLOY, "--profile", "*")


@pytest.mark.req("EV-08")
def test_docker_compose_accepts_it_with_each_profile(resolved):
    profiles = {profile for one in ALL.values() for profile in one.get("profiles", ())}
    for profile in profiles:
        wanted = {name for name, one in ALL.items() if profile in one.get("profiles", [profile])}
        assert set(resolved_in(DEPLOY, "--profile", profile)["services"]) == wanted, profile
    assert set(resolved["services"]) == set(ALL)


@pytest.mark.control
def test_docker_compose_refuses_a_mistake(tmp_path):
    (tmp_path / "compose.yaml").write_text("services: {api: {image: x, comand: [serve]}}")
    with pytest.raises(AssertionError, match="comand"):
        resolved_in(tmp_path)


@pytest.mark.req("EV-01", "EV-08")
def test_every_service_runs_on_its_own_with_a_nats_user_of_its_own():
    for name in (*SERVICES, *PARTS):
        assert ALL[name]["command"] == ["serve", name]
        assert environment(name)["DROVER_NATS_URL_FILE"] == f"/run/secrets/nats_url_{name}"
        assert f"nats_url_{name}" in ALL[name]["secrets"]


def test_every_setting_is_one_that_drover_reads():
    for name in OURS:
        for variable in environment(name):
            if variable.startswith("DROVER_"):
                assert variable in FIELDS or variable.removesuffix(SUFFIX) in FIELDS, (name, variable)


@pytest.mark.req("DI-12")
def test_whoever_takes_keys_knows_what_the_anon_key_may_do():
    """The api too: it serves Realtime to that key."""
    for name in SERVICES:
        takes_keys = REGISTRY[name].takes_requests
        assert takes_keys == ({"DROVER_ANON", "DROVER_ANON_MAY_CREATE_JOBS"} <= environment(name).keys()), name


@pytest.mark.req("SE-02")
def test_the_anon_key_may_do_nothing_until_somebody_says_so(resolved):
    found = {name: one.get("environment", {}).get("DROVER_ANON") for name, one in resolved["services"].items()}
    takers = {"tools", *(name for name in SERVICES if REGISTRY[name].takes_requests)}
    assert found == {name: "off" if name in takers else None for name in found}


@pytest.mark.req("SE-07")
def test_who_takes_keys_believes_the_edge_that_they_came_over_https(resolved):
    (subnet,) = (one["subnet"] for one in resolved["networks"]["front"]["ipam"]["config"])
    assert list(resolved["services"]["edge"]["networks"]) == ["front"]
    for name in SERVICES:
        if REGISTRY[name].takes_requests:
            assert resolved["services"][name]["environment"]["DROVER_TRUSTED_PROXIES"] == subnet, name
    https = (DEPLOY / "edge" / "nginx.conf").read_text()
    assert "listen 8443 ssl;" in https
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in https


@pytest.mark.req("SE-07")
def test_the_simulated_farm_sends_its_keys_over_https(resolved):
    farm = resolved["services"]["farm"]
    assert farm["command"][:2] == ["--url", "https://edge:8443"]
    assert "localhost edge" in (DEPLOY / "make-certificates.sh").read_text(), "the certificate is valid for that name"
    trust = farm["environment"]["SSL_CERT_FILE"]
    assert trust in {f"{volume['target']}/ca.crt" for volume in farm["volumes"]}


def test_secrets_are_files_that_git_does_not_have():
    ignored = (DEPLOY / ".gitignore").read_text().split()
    assert {"/secrets/", "/tls/", "/.env"} <= set(ignored)
    for secret in resolved_in(DEPLOY, "--profile", "*")["secrets"].values():
        assert secret["file"].startswith(f"{DEPLOY}/secrets/")
    assert not re.search(r"(password|secret)s?: *[A-Za-z0-9]{12,}", TEXT, re.IGNORECASE)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_container_can_do_little_and_is_bounded(resolved, name):
    one = resolved["services"][name]
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    limits = one["deploy"]["resources"]["limits"]
    assert limits["pids"] <= 512
    assert one["restart"] == "no" or {"cpus", "memory"} <= limits.keys() or name == "farm"
    assert one["logging"]["options"]["max-size"]
    assert re.search(r":[v0-9][\w.-]*$", one["image"]), "a tag that stays what it is"
    assert "latest" not in one["image"]


def test_only_the_edge_is_open_to_a_network(resolved):
    for name, one in resolved["services"].items():
        assert bool(one.get("ports")) == (name in PUBLISHED), name
        for port in one.get("ports", ()):
            assert name == "edge" or port["host_ip"] == "127.0.0.1", port


def test_the_database_is_reached_by_those_only_who_read_it():
    assert FILE["networks"]["data"] == {"internal": True}
    assert FILE["networks"]["log"] == {"internal": True}
    assert ALL["postgres"]["networks"] == ["data"]
    for name in SERVICES:
        reads = REGISTRY[name].reads_postgres
        assert ("data" in ALL[name]["networks"]) == reads, name
        assert ("postgres_url" in ALL[name]["secrets"]) == reads, name
    for server in ("nats-1", "nats-2", "nats-3"):
        assert "front" not in ALL[server]["networks"]


def test_services_wait_for_their_servers_and_the_edge_for_services():
    for name in SERVICES:
        assert ALL[name]["depends_on"]["nats-1"] == {"condition": "service_healthy"}
        assert ALL[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert ALL["migrate"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
    for name in ("nats-1", "postgres", "edge"):
        assert "test" in ALL[name]["healthcheck"]


def test_one_machine_has_one_nats_and_a_cluster_three():
    assert "profiles" not in ALL["nats-1"]
    assert ALL["nats-2"]["profiles"] == ALL["nats-3"]["profiles"] == ["cluster"]
    assert {name for name, one in ALL.items() if "profiles" not in one} == {
        *SERVICES,
        "nats-1",
        "postgres",
        "migrate",
        "edge",
    }


def test_verify_has_a_disk_for_the_rows_that_it_puts_aside():
    assert "scratch:/tmp" in ALL["tools"]["volumes"]
    assert not ALL["tools"].get("tmpfs"), "64 MB in memory hold 90,000 assignments"
    assert "scratch" in FILE["volumes"]


def test_prometheus_scrapes_every_service():
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yaml").read_text())
    (scrape,) = config["scrape_configs"]
    assert {*SERVICES, *PARTS} == set(scrape["dns_sd_configs"][0]["names"])
    assert "log" in ALL["prometheus"]["networks"]


@WITH_OPENSSL
@pytest.mark.parametrize(("profile", "nodes"), [("single", 1), ("cluster", 3)])
def test_setup_writes_all_that_is_needed_and_changes_nothing_the_second_time(tmp_path, profile, nodes):
    names = (profile, "farm.example.com", "192.0.2.7")
    set_up(tmp_path, *names)
    project = resolved_in(tmp_path, "--profile", "*")
    for secret in project["secrets"].values():
        assert Path(secret["file"]).read_text().strip()
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    url = (tmp_path / "secrets" / "nats_url_gateway").read_text()
    assert url.count("tls://gateway:") == nodes
    passwords = (tmp_path / "secrets" / "nats" / "passwords.conf").read_text()
    assert len(passwords.splitlines()) == len(USERS) + 1, "one each, and that of the system account"
    services = resolved_in(tmp_path)["services"]
    assert services["nats-1"]["command"][-1].endswith(f"/{profile}.conf")
    assert sum(name.startswith("nats-") for name in services) == nodes
    assert services["api"]["environment"]["DROVER_NATS_REPLICAS"] == str(nodes)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    set_up(tmp_path, *names)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@WITH_OPENSSL
@pytest.mark.req("SE-08")
def test_a_new_installation_has_rings_of_its_own_for_each_context_and_no_shared_secret(tmp_path):
    set_up(tmp_path)
    assert not {"jwt_secrets", "inner_secrets", "sealing_keys"} & {path.name for path in tmp_path.rglob("*")}
    api, gateway, reminder, worker = (
        read_by(tmp_path, name) for name in ("api", "gateway", "reminder", "render-worker")
    )
    rings = [api.sealing_ring("identity"), gateway.sealing_ring("render"), reminder.sealing_ring("reminder")]
    assert len({key for ring in rings for key in ring}) == 3
    assert worker.sealing_ring("render") == gateway.sealing_ring("render")
    assert worker.sealing_ring("identity") == gateway.sealing_ring("identity") == api.sealing_ring("render") == ()
    assert (api.jwt_secrets, gateway.jwt_secrets, gateway.identity_secrets) == ((), (), ())
    assert len(api.identity_secrets) == 1


@WITH_OPENSSL
@pytest.mark.req("SE-08")
def test_an_installation_of_before_keeps_its_secrets_and_goes_on(tmp_path):
    shared, ring = "s" * 64, f"k1:{'A' * 43}="
    slack = "https://hooks.slack.com/services/T000/B000/x&y"
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "jwt_secrets").write_text(shared)
    (tmp_path / "secrets" / "sealing_keys").write_text(ring)
    (tmp_path / ".env").write_text(
        f"NATS_CONFIG=single\nDROVER_ALERT_SLACK_URL='{slack}'\n"
        "DROVER_ARCHIVE_S3_KEY_ID=id\nDROVER_ARCHIVE_S3_SECRET=of the bucket\n"
    )
    said = set_up(tmp_path)
    assert "DROVER_ALERT_SLACK_URL of deploy/.env is now in deploy/secrets/alert_slack_url" in said
    for name in ("gateway", "cleanup", "reminder", "api", "tools"):
        assert read_by(tmp_path, name).jwt_secrets == (shared,), "keys that are in phones stay valid"
    for name, context in (("gateway", "render"), ("render-worker", "render"), ("api", "identity")):
        assert read_by(tmp_path, name).sealing_ring(context) == (ring,), "what is sealed can be opened"
    for name in ("archiver", "projector"):
        found = read_by(tmp_path, name)
        assert (found.archive_s3_key_id, found.archive_s3_secret) == ("id", "of the bucket")
    assert read_by(tmp_path, "notifier", AlertSettings).alert_slack_url == slack
    assert read_by(tmp_path, "scheduler").jwt_secrets == read_by(tmp_path, "projector").jwt_secrets == ()


@WITH_OPENSSL
@pytest.mark.req("SE-08")
def test_the_keys_of_the_simulated_farm_are_signed_when_it_starts(tmp_path):
    set_up(tmp_path)
    one = resolved_in(tmp_path, "--profile", "*")["services"]["farm-keys"]
    (command,) = (text.replace("$$", "$") for text in one["command"])  # as Docker gets it
    environ = given_to(tmp_path, "farm-keys") | {"FARM": str(tmp_path)}
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    subprocess.run([*one["entrypoint"], command], env={"PATH": path} | environ, check=True, cwd=tmp_path)
    found = msgspec.json.decode((tmp_path / "credentials.json").read_bytes(), type=Credentials)
    keys = IdentityKeys(read_by(tmp_path, "api").identity_secrets)
    for token, role in ((found.anon_key, "anon"), (found.service_key, "service_role")):
        assert jwt.decode(token, keys.api[0].public, algorithms=["ES256"])["role"] == role
    assert found.url == "https://edge:8443"


def read_by(folder, container, section=Settings):
    """The settings as the program in a container reads them."""
    environ = given_to(folder, container)
    read_secret_files(environ, FIELDS)
    return load({name: value for name, value in environ.items() if name.startswith("DROVER_")}, section)
