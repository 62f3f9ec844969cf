"""`deploy/compose.yaml`: every service is there, with settings that exist, and no more rights than it needs.

Docker Compose reads and resolves the file. Without Docker, nothing here shows that containers start.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from drover.cli.service_names import PARTS, SERVICES
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.service.secret_files import SUFFIX
from tests.deploy.permitted_nats import DEPLOY
from tests.deploy.programs import output
from tools.nats_users import USERS

TEXT = (DEPLOY / "compose.yaml").read_text()
FILE = yaml.safe_load(TEXT)
ALL = FILE["services"]
OURS = {name: one for name, one in ALL.items() if "drover" in one["image"]}
PUBLISHED = {"nats-1", "nats-2", "nats-3", "edge", "prometheus", "grafana"}


def environment(name):
    return ALL[name].get("environment") or {}


def resolved_in(folder: Path, *flags: str) -> dict:
    """The project as Docker Compose understands it: merged, with its variables filled in. It refuses mistakes."""
    return json.loads(output("docker-compose", "-f", folder / "compose.yaml", *flags, "config", "--format", "json"))


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
        takes_keys = "DROVER_IDENTITY_SECRETS_FILE" in environment(name)
        assert takes_keys == ({"DROVER_ANON", "DROVER_ANON_MAY_CREATE_JOBS"} <= environment(name).keys()), name


def test_what_is_read_from_a_file_is_a_secret_of_that_container():
    for name in OURS:
        files = {value for variable, value in environment(name).items() if variable.endswith(SUFFIX)}
        ours = {value.removeprefix("/run/secrets/") for value in files if value.startswith("/run/secrets/")}
        assert ours == set(ALL[name].get("secrets", ())), name
    used = {secret for one in ALL.values() for secret in one.get("secrets", ())}
    assert used == FILE["secrets"].keys()


@pytest.mark.req("EV-01")
def test_who_lets_nobody_in_does_not_know_what_keys_are_signed_with():
    for name in {*SERVICES, *PARTS} - {"gateway", "cleanup", "reminder", "api", "projector"}:
        assert not {"jwt_secrets", "identity_secrets", "cron_secrets"} & set(ALL[name]["secrets"]), name


def test_secrets_are_files_that_git_does_not_have():
    ignored = (DEPLOY / ".gitignore").read_text().split()
    assert {"/secrets/", "/tls/", "/.env"} <= set(ignored)
    for secret in FILE["secrets"].values():
        assert secret["file"].startswith("./secrets/")
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


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing: it makes the certificates")
@pytest.mark.parametrize(("profile", "nodes"), [("single", 1), ("cluster", 3)])
def test_setup_writes_all_that_is_needed_and_changes_nothing_the_second_time(tmp_path, profile, nodes):
    for name in ("setup.sh", "make-certificates.sh", "compose.yaml"):
        shutil.copy(DEPLOY / name, tmp_path)
    (tmp_path / "nats").mkdir()
    (tmp_path / "nats" / "users.conf").write_text((DEPLOY / "nats" / "users.conf").read_text())
    run = [tmp_path / "setup.sh", profile, "farm.example.com", "192.0.2.7"]
    subprocess.run(run, check=True, capture_output=True)
    for secret in FILE["secrets"].values():
        assert (tmp_path / secret["file"]).read_text().strip()
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    url = (tmp_path / "secrets" / "nats_url_gateway").read_text()
    assert url.count("tls://gateway:") == nodes
    passwords = (tmp_path / "secrets" / "nats" / "passwords.conf").read_text()
    assert len(passwords.splitlines()) == len(USERS) + 1, "one each, and that of the system account"
    services = resolved_in(tmp_path)["services"]
    assert services["nats-1"]["command"][-1].endswith(f"/{profile}.conf")
    assert sum(name.startswith("nats-") for name in services) == nodes
    assert services["api"]["environment"]["DROVER_NATS_REPLICAS"] == str(nodes)
    before = {
        path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "credentials.json"
    }
    subprocess.run(run, check=True, capture_output=True)
    assert before == {path: path.read_bytes() for path in before}
