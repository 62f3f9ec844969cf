"""Settings out of files: what orchestrators mount in place of a variable."""

from __future__ import annotations

import pytest

from drover.platform.settings import FIELDS
from drover.service.config import ConfigurationError
from drover.service.secret_files import FILE_BYTES_MAX, read_secret_files
from tests.settings import load

SECRET = "a secret that is long enough for this test"


def test_a_file_stands_for_its_setting(tmp_path):
    (tmp_path / "jwt").write_text(f"{SECRET}\n")
    environ = {
        "DROVER_NATS_URL": "nats://x",
        "DROVER_POSTGRES_URL": "postgresql://x",
        "DROVER_JWT_SECRETS_FILE": str(tmp_path / "jwt"),
    }
    read_secret_files(environ, FIELDS)
    assert "DROVER_JWT_SECRETS_FILE" not in environ
    assert load(environ).jwt_secrets == (SECRET,)


def test_what_is_no_setting_of_ours_stays_for_the_settings_to_refuse():
    environ = {"DROVER_NONSENSE_FILE": "/nowhere", "OTHER_FILE": "/nowhere"}
    read_secret_files(environ, FIELDS)
    assert environ == {"DROVER_NONSENSE_FILE": "/nowhere", "OTHER_FILE": "/nowhere"}
    with pytest.raises(ConfigurationError, match="DROVER_NONSENSE_FILE"):
        load(environ)


def test_an_empty_name_is_no_file():
    environ = {"DROVER_JWT_SECRETS_FILE": "", "DROVER_JWT_SECRETS": SECRET}
    read_secret_files(environ, FIELDS)
    assert environ["DROVER_JWT_SECRETS"] == SECRET


def test_a_file_with_only_a_comment_sets_nothing(tmp_path):
    (tmp_path / "slack").write_text("# Not set. Put the address of the webhook here.\n")
    environ = {"DROVER_ALERT_SLACK_URL_FILE": str(tmp_path / "slack")}
    read_secret_files(environ, FIELDS)
    assert environ == {}


def test_every_problem_is_named_at_once_and_no_secret_is_told(tmp_path):
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "large").write_bytes(b"x" * (FILE_BYTES_MAX + 1))
    (tmp_path / "both").write_text(SECRET)
    environ = {
        "DROVER_JWT_SECRETS_FILE": str(tmp_path / "missing"),
        "DROVER_SEALING_KEYS_FILE": str(tmp_path / "empty"),
        "DROVER_IDENTITY_SECRETS_FILE": str(tmp_path / "large"),
        "DROVER_CRON_SECRETS_FILE": str(tmp_path / "both"),
        "DROVER_CRON_SECRETS": SECRET,
    }
    with pytest.raises(ConfigurationError) as refused:
        read_secret_files(environ, FIELDS)
    assert len(refused.value.problems) == 4
    assert SECRET not in str(refused.value)
