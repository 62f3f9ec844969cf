"""`drover config`: every setting with its value and source, and no secret."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from drover.cli.group import drover
from drover.platform.settings import FIELDS
from drover.service.other_names import SETTINGS

SECRET = "a-secret-that-nobody-should-see-here"


@pytest.fixture
def settings(monkeypatch):
    for name in FIELDS:
        monkeypatch.delenv(name, raising=False)
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        ended = CliRunner().invoke(drover, ["config", *arguments])
        assert ended.exit_code == 0, ended.output
        return ended.output

    return run


def test_every_setting_is_listed_with_what_it_is_for(settings):
    found = [json.loads(line) for line in settings("--json").splitlines()]
    assert [one["name"] for one in found] == [*FIELDS]
    assert all(one["help"] for one in found)
    assert {one["source"] for one in found} == {"default"}


def test_a_value_says_where_it_comes_from_and_a_secret_is_not_shown(settings):
    output = settings("--json", "cron", "port", CRON_SECRET=SECRET, DROVER_HTTP_PORT="9000")
    found = {one["name"]: (one["value"], one["source"]) for one in map(json.loads, output.splitlines())}
    assert found["DROVER_CRON_SECRETS"] == ("•••", "CRON_SECRET")
    assert found["DROVER_HTTP_PORT"] == ("9000", "DROVER_HTTP_PORT")
    assert SECRET not in output


@pytest.mark.req("DI-15")
def test_a_value_by_a_name_of_003_says_so(settings):
    names = {"NEXRENDER_API_URL": "http://n:3000", "NAS_MOUNT_PATH": "/mnt/nas", "NAS_OUTPUT_DIR": "/out"}
    output = settings("--json", "render", **names, MAX_RETRIES="5", DROVER_RENDER_POLL_S="2")
    found = {one["name"]: (one["value"], one["source"]) for one in map(json.loads, output.splitlines())}
    assert found["DROVER_RENDER_RETRIES"] == ("5", "MAX_RETRIES")
    assert found["DROVER_RENDER_NAS"] == ("/mnt/nas/out", "NAS_MOUNT_PATH and NAS_OUTPUT_DIR")
    assert found["DROVER_RENDER_POLL_S"] == ("2.0", "DROVER_RENDER_POLL_S")
    assert "MAX_RETRIES" in settings("retries")


def test_a_secret_that_is_not_set_says_so(settings):
    (found,) = map(json.loads, settings("--json", "jwt_secrets").splitlines())
    assert found["value"] == "not set"


def test_people_get_a_table(settings):
    assert "DROVER_CLEANUP_CRON" in settings("cleanup")
