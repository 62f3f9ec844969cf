"""Where the platform is, and with which key: options before a named directory, the environment, the default one."""

from __future__ import annotations

import click
import msgspec
import pytest

from drover.cli.errors import NoAddress, NoKey
from drover.cli.operations.access import find_access
from drover.cli.server_options import Server
from drover.embedded.credentials import Credentials
from drover.service.config import REQUIRED, ConfigurationError
from tests.settings import load

ENVIRON = {"DROVER_URL": "http://there:8080/", "DROVER_KEY": "environ-key"}


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A folder with a data directory `.drover`, and another one with the name that is returned."""
    monkeypatch.chdir(tmp_path)
    for name, key in ((".drover", "default-key"), ("named", "named-key")):
        (tmp_path / name).mkdir()
        known = Credentials(f"http://{name.strip('.')}:1", "anon", key, "cron", "a@b.c", "password", "nats", "postgres")
        (tmp_path / name / "credentials.json").write_bytes(msgspec.json.encode(known))
    return tmp_path / "named"


def found(server, environ):
    access = find_access(server, environ)
    return access.url, access.key


def test_options_come_first_then_a_named_directory_the_environment_and_the_default_one(directory):
    assert found(Server(), {}) == ("http://drover:1", "default-key")
    assert found(Server(), ENVIRON) == ("http://there:8080", "environ-key")
    assert found(Server(data_dir=directory), ENVIRON) == ("http://named:1", "named-key")
    assert found(Server(url="http://here", key="k", data_dir=directory), ENVIRON) == ("http://here", "k")
    assert found(Server(key="k"), ENVIRON) == ("http://there:8080", "k")


def test_the_key_of_a_directory_is_never_sent_to_an_address_that_comes_from_elsewhere(directory):
    for server, environ in ((Server(), {"DROVER_URL": "http://there"}), (Server(url="http://there"), {})):
        with pytest.raises(NoKey, match="no key for http://there"):
            find_access(server, environ)


def test_a_key_comes_from_a_file(tmp_path):
    (tmp_path / "key").write_text("from-a-file\n")
    environ = {"DROVER_URL": "http://there", "DROVER_KEY_FILE": str(tmp_path / "key")}
    assert found(Server(), environ) == ("http://there", "from-a-file")
    with pytest.raises(ConfigurationError, match="both set"):
        find_access(Server(), environ | {"DROVER_KEY": "k"})


def test_without_a_platform_all_ways_to_name_one_are_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoAddress) as refused:
        find_access(Server(), {})
    assert all(way in str(refused.value) for way in ("`drover up`", "--data-dir", "DROVER_URL", "DROVER_KEY_FILE"))
    with pytest.raises(NoAddress, match="drover up --data-dir elsewhere"):
        find_access(Server(data_dir=tmp_path.relative_to(tmp_path) / "elsewhere"), ENVIRON)


@pytest.mark.parametrize("url", ["there", "ftp://there", "http://", "http://there:x", "http://[there"])
def test_what_is_no_address_is_refused_with_an_example(url):
    with pytest.raises(click.UsageError, match=r"http://127\.0\.0\.1:8080"):
        find_access(Server(url=url, key="k"), {})


def test_a_shell_that_is_set_up_for_these_commands_can_start_services_too():
    load({**ENVIRON, "DROVER_KEY_FILE": "key"}, without=REQUIRED)


@pytest.mark.req("SE-07")
@pytest.mark.parametrize(
    ("url", "is_warned"),
    [
        ("https://drover.example.com", False),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
        ("http://localhost", False),
        ("http://drover.example.com", True),
        ("http://192.168.0.9:8080", True),
    ],
)
def test_a_key_that_leaves_the_machine_in_the_clear_is_warned_of(url, is_warned, capsys):
    find_access(Server(url=url, key="secret"), {})
    said = capsys.readouterr()
    assert ("is not encrypted" in said.err, said.out) == (is_warned, "")
    assert "secret" not in said.err
