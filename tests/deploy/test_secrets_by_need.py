"""Every container has the secrets that `tools/service_secrets.py` gives it, as files, and no other."""

from __future__ import annotations

import pytest

from drover.cli.service_names import SERVICES
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.service.config import is_secret
from drover.service.secret_files import SUFFIX
from tests.deploy.chart import container_of, environment_of, keys_of, pods
from tests.deploy.compose import FILE, OURS, mounted, resolved_in
from tests.deploy.permitted_nats import DEPLOY
from tools.service_secrets import CONTAINERS, MIGRATE, READS_ARCHIVE, SECRETS, VERIFIES, WRITES_ARCHIVE, files_of

pytestmark = pytest.mark.req("SE-08")

PODS = (*SERVICES, MIGRATE)
BUCKET = "archive.bucket=s3://farm/log"
SIGNING = {"identity_secrets", "jwt_secrets"}
NO_SECRETS = {"DROVER_POSTGRES_URL": "postgresql://nobody@127.0.0.1:1/nothing"}
"""Values that look like a secret and are none."""
IN_A_CHART = {
    "archive_s3_key_id": BUCKET,
    "archive_s3_secret": BUCKET,
    "archive_reader_s3_key_id": BUCKET,
    "archive_reader_s3_secret": BUCKET,
    "jwt_secrets": "keysOfBefore=true",
}
"""The values that give optional secrets to all pods that need them. The others are chosen by `secretSettings`."""


@pytest.fixture(scope="module")
def composed():
    """The containers as Docker Compose understands them, with all profiles."""
    return resolved_in(DEPLOY, "--profile", "*")["services"]


def settings_from_files(environ):
    return {name.removesuffix(SUFFIX): value for name, value in environ.items() if is_from_file(name)}


def is_from_file(name):
    return name.startswith("DROVER_") and name.endswith(SUFFIX) and name.removesuffix(SUFFIX) in FIELDS


def in_the_open(environ):
    """The secrets that are values of variables, which `docker inspect` shows."""
    return {
        name
        for name, value in environ.items()
        if name in FIELDS and value and is_secret(name) and value != NO_SECRETS.get(name)
    }


def test_the_table_names_settings_that_exist_and_every_secret_that_a_service_can_have():
    assert {secret.setting for secret in SECRETS.values()} <= FIELDS.keys()
    named = {secret.setting for secret in SECRETS.values()}
    rest = {name for name in FIELDS if is_secret(name)} - named
    # Rings of contexts that seal nothing, and the one for all contexts, which installations of before had.
    assert rest == {"DROVER_SEALING_KEYS", "DROVER_FLEET_SEALING_KEYS", "DROVER_ANALYSIS_SEALING_KEYS"}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_of_compose_has_the_secrets_of_the_table_as_files(composed, name):
    environ = composed[name].get("environment") or {}
    files = mounted(composed[name])
    wanted = files_of(name)
    assert set(files) == set(wanted), "a secret too many or too few"
    assert settings_from_files(environ) == {setting: files[file] for file, setting in wanted.items()}
    assert in_the_open(environ) == set()


def test_compose_has_no_other_containers_of_drover_and_no_other_secrets(composed):
    assert set(OURS) - set(CONTAINERS) == {"farm"}
    assert mounted(composed["farm"]) == {}
    assert FILE["secrets"].keys() - SECRETS.keys() == {"postgres_password", "grafana_password"}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_the_secrets_of_the_table_as_files(name):
    _compare(pods()[name], files_of(name, with_optional=False))


@pytest.mark.parametrize("name", PODS)
@pytest.mark.parametrize("value", sorted(set(IN_A_CHART.values())))
def test_a_pod_has_optional_secrets_if_a_value_asks_for_them(name, value):
    chosen = {file for file, one in IN_A_CHART.items() if one == value}
    wanted = files_of(name, with_optional=False) | {
        file: setting for file, setting in files_of(name).items() if file in chosen
    }
    _compare(pods(value)[name], wanted)


def _compare(pod, wanted):
    files = keys_of(pod)
    assert set(files.values()) == set(wanted), "a secret too many or too few"
    found = {setting: files[file] for setting, file in settings_from_files(environment_of(pod)).items()}
    assert found == {setting: file for file, setting in wanted.items()}
    assert in_the_open(environment_of(pod)) == set()


def test_only_the_api_and_people_at_a_shell_have_what_signs():
    assert set(SECRETS["identity_secrets"].to) == {"api", "tools", "farm-keys"}
    assert SECRETS["jwt_secrets"].is_optional
    for name in SERVICES:
        assert bool(SIGNING & set(files_of(name, with_optional=False))) == (name == "api"), name


def test_keys_of_before_are_verified_by_those_who_take_requests():
    assert set(VERIFIES) == {name for name in SERVICES if REGISTRY[name].takes_requests}


def test_without_keys_of_before_their_secret_is_a_comment(composed, monkeypatch):
    def source():
        return resolved_in(DEPLOY)["secrets"]["jwt_secrets"]["file"]

    assert source().endswith("/secrets/none")
    monkeypatch.setenv("JWT_SECRETS_FILE", "./secrets/jwt_secrets")
    assert source().endswith("/secrets/jwt_secrets")


def test_the_archive_is_seen_by_those_who_need_it_and_written_by_few(composed):
    found = {
        name: volume.get("read_only", False)
        for name, one in composed.items()
        for volume in one.get("volumes", ())
        if volume["target"] == "/archive"
    }
    assert found == {**dict.fromkeys(READS_ARCHIVE, True), **dict.fromkeys(WRITES_ARCHIVE, False)}
    for name in CONTAINERS:
        one = composed[name]
        assert ("DROVER_ARCHIVE" in (one.get("environment") or {})) == (name in found), name
        assert ("archive" in (one.get("networks") or {})) == (name in found), name
    for settings, place in (("archive.claim=log", "/archive"), (BUCKET, "s3://farm/log")):
        for name, pod in pods(settings, "settings.DROVER_LOG_KEEP=90d").items():
            environ = environment_of(pod)
            assert (environ.get("DROVER_ARCHIVE") == place) == (name in found), name
            assert ("DROVER_LOG_KEEP" in environ) == (name in found), "it would refuse to start without an archive"
    for name, pod in pods("archive.claim=log").items():
        mounts = {one["name"]: one.get("readOnly", False) for one in container_of(pod)["volumeMounts"]}
        claims = {
            volume["name"]: volume["persistentVolumeClaim"].get("readOnly", False)
            for volume in pod["spec"]["volumes"]
            if "persistentVolumeClaim" in volume
        }
        assert mounts.get("archive") == claims.get("archive") == found.get(name), name


@pytest.mark.parametrize("outside", ["", "false"])
def test_a_bucket_can_be_reached_if_the_operator_says_so(monkeypatch, outside):
    monkeypatch.setenv("ARCHIVE_INTERNAL", outside)
    network = resolved_in(DEPLOY)["networks"]["archive"]
    assert network.get("internal", False) == (outside == "")
