"""`drover key ROLE`: what it signs is what the edges accept. Commands that need the platform are in tests/e2e."""

import pytest
from click.testing import CliRunner

from drover.cli.commands.key import key
from drover.embedded.credentials import load_or_create_secrets
from drover.service.api_keys import Role
from drover.web.auth import Authenticator
from tests.unit.web.known_keys import KnownKeys

SECRETS = "n" * 32 + "," + "o" * 32
DEVICE = "018f2b5e-0000-7000-8000-00000000000a"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("DROVER_JWT_SECRETS", "DROVER_IDENTITY_SECRETS", "DROVER_NATS_URL", "DROVER_POSTGRES_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def platform(monkeypatch):
    """Settings of a platform with servers of its own."""
    for name, value in {
        "DROVER_IDENTITY_SECRETS": SECRETS,
        "DROVER_NATS_URL": "nats://n",
        "DROVER_POSTGRES_URL": "postgresql://p",
    }.items():
        monkeypatch.setenv(name, value)


def verifier(secret: str = "n" * 32) -> Authenticator:
    return Authenticator((), keys=KnownKeys(secret))


@pytest.mark.parametrize("role", [Role.ANON, Role.SERVICE_ROLE])
def test_a_key_is_signed_with_the_first_secret_and_has_the_role(platform, role):
    result = CliRunner().invoke(key, [role.value])
    assert result.exit_code == 0, result.output
    principal = verifier().authenticate({"apikey": result.output.strip()})
    assert (principal.role, len(principal.key_names)) == (role, 1)


@pytest.mark.parametrize("word", ["revok", "delete", "admin"])
def test_a_word_that_is_neither_a_command_nor_a_role_is_called_so(platform, word):
    result = CliRunner().invoke(key, [word, DEVICE])
    assert result.exit_code == 2
    assert f"No such command '{word}'" in result.output


@pytest.mark.parametrize("role", [Role.ANON, Role.SERVICE_ROLE])
def test_a_platform_with_shared_secrets_only_gets_keys_signed_with_the_first(monkeypatch, role):
    monkeypatch.setenv("DROVER_JWT_SECRETS", SECRETS)
    result = CliRunner().invoke(key, [role.value])
    assert result.exit_code == 0, result.output
    assert Authenticator(["n" * 32]).authenticate({"apikey": result.output.strip()}).role is role


def test_a_key_needs_no_setting_but_the_secret(monkeypatch, platform):
    for name in ("DROVER_NATS_URL", "DROVER_POSTGRES_URL"):
        monkeypatch.delenv(name)
    assert CliRunner().invoke(key, ["anon"], standalone_mode=False).exit_code == 0


def test_a_key_of_a_device_is_bound_to_it(platform):
    result = CliRunner().invoke(key, ["device", DEVICE.upper(), "--days", "1"])
    assert result.exit_code == 0, result.output
    principal = verifier().authenticate({"apikey": result.output.strip()})
    assert (principal.role, principal.device_id, principal.name) == (Role.DEVICE, DEVICE, f"device:{DEVICE}")


@pytest.mark.parametrize("command", [[], ["create"]])
@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["device"], "DEVICE_ID"), (["anon", DEVICE], "bound to no device"), (["device", "SERIAL0001"], "UUID")],
)
def test_a_device_and_its_role_come_together_or_not_at_all(platform, command, arguments, word):
    result = CliRunner().invoke(key, command + arguments)
    assert result.exit_code == 2
    assert word in result.output


def test_a_key_for_an_embedded_platform_is_signed_with_its_secret(tmp_path):
    secret = load_or_create_secrets(tmp_path).identity_secret
    result = CliRunner().invoke(key, ["anon", "--data-dir", str(tmp_path), "--days", "1"])
    assert verifier(secret).authenticate({"apikey": result.output.strip()}).role is Role.ANON


def test_without_a_platform_it_says_what_to_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(key, ["anon"])
    assert result.exit_code == 2
    assert "--data-dir" in result.output


@pytest.mark.parametrize("role", ["admin", "operator", "viewer", "authenticated"])
@pytest.mark.parametrize("command", [[], ["create"]])
def test_people_get_no_keys(command, role):
    answer = CliRunner().invoke(key, [*command, role])
    assert answer.exit_code == 2
    assert "anon" in answer.output
