"""How a command finds the platform."""

import os

import msgspec
import pytest

from drover.cli.errors import CredentialsUnreadable, NoPlatform
from drover.cli.target import ENVIRONMENT, find_target
from drover.embedded.credentials import Credentials, load_or_create
from drover.service.config import ConfigurationError

ENVIRON = {
    "DROVER_NATS_URL": "nats://a:1",
    "DROVER_POSTGRES_URL": "postgresql://a/b",
    "DROVER_JWT_SECRETS": "s" * 32,
}


@pytest.fixture
def data_dir(tmp_path):
    path = tmp_path / ".drover"
    path.mkdir()
    load_or_create(path, "http://127.0.0.1:8081", "nats://drover:hush@127.0.0.1:20001", "postgresql://x/drover")
    return path


def test_the_directory_of_drover_up_says_where_everything_is(data_dir):
    target = find_target(data_dir, {})
    assert target.embedded
    assert (target.http_host, target.http_port) == ("127.0.0.1", 8081)
    assert target.nats_url == "nats://drover:hush@127.0.0.1:20001"
    assert target.nats_system_url.startswith("nats://sys:")
    assert target.nats_system_url.endswith("@127.0.0.1:20001")
    assert "credentials.json" in target.source


def test_without_its_secrets_only_the_system_account_is_unknown(data_dir):
    (data_dir / "secrets.json").unlink()
    assert find_target(data_dir, {}).nats_system_url is None


def test_the_environment_wins_over_the_default_directory_and_a_named_one_over_the_environment(data_dir, monkeypatch):
    monkeypatch.chdir(data_dir.parent)
    assert find_target(None, {}).embedded
    assert find_target(None, ENVIRON).source == ENVIRONMENT
    assert find_target(data_dir, ENVIRON).embedded


@pytest.mark.parametrize(("given", "missing"), [("nats_url", "postgres_url"), ("postgres_url", "nats_url")])
def test_half_an_environment_never_means_the_directory_and_the_other_half_is_asked_for_when_it_is_needed(
    data_dir, monkeypatch, given, missing
):
    monkeypatch.chdir(data_dir.parent)
    name = f"DROVER_{given.upper()}"
    target = find_target(None, {name: ENVIRON[name]})
    assert target.source == ENVIRONMENT
    assert getattr(target, given) == ENVIRON[name]
    with pytest.raises(ConfigurationError, match=f"DROVER_{missing.upper()} is not set. It takes"):
        getattr(target, missing)


def test_a_command_that_only_looks_asks_for_no_secret(data_dir):
    target = find_target(None, {name: value for name, value in ENVIRON.items() if "SECRET" not in name})
    assert (target.nats_url, target.postgres_url) == (ENVIRON["DROVER_NATS_URL"], ENVIRON["DROVER_POSTGRES_URL"])


def test_a_misspelt_setting_is_named(data_dir):
    with pytest.raises(ConfigurationError, match="DROVER_HTTP_PORT"):
        find_target(None, ENVIRON | {"DROVER_HTPP_PORT": "1"})


def test_nothing_at_all_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoPlatform, match=r"`drover up`.*DROVER_NATS_URL"):
        find_target(None, {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "malformed"),
        (b"{}", "malformed.*missing required field"),
        (b'{"url": 3}', "malformed"),
        (b"\xff", "malformed"),
        (b'"' + b"x" * 10 + b'"', "malformed"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path, content, reason):
    (tmp_path / "credentials.json").write_bytes(content)
    with pytest.raises(CredentialsUnreadable, match=f"credentials.json cannot be read: {reason}"):
        find_target(tmp_path, {})


def test_an_address_in_it_that_is_none_is_told(data_dir):
    path = data_dir / "credentials.json"
    known = msgspec.json.decode(path.read_bytes(), type=Credentials)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(known, url="http://127.0.0.1:99999")))
    with pytest.raises(CredentialsUnreadable, match=r"[Pp]ort"):
        find_target(data_dir, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_of_somebody_else_says_whom_to_be(data_dir):
    (data_dir / "credentials.json").chmod(0)
    with pytest.raises(CredentialsUnreadable, match=r"permission denied.*as that user"):
        find_target(data_dir, {})


def test_permission_denied_is_said_plainly(data_dir, monkeypatch):
    """The same for root, whom no file mode stops."""

    def denied(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", denied)
    with pytest.raises(CredentialsUnreadable, match=r"permission denied.*as that user"):
        find_target(data_dir, {})


def test_a_file_where_the_directory_should_be_is_no_platform(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NoPlatform):
        find_target(tmp_path / "file", {})
