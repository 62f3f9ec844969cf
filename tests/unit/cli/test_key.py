"""`drover key`: what it issues is what the edges accept."""

import pytest
from click.testing import CliRunner

from drover.cli.commands.key import key
from drover.embedded.credentials import load_or_create_secrets
from drover.service.api_keys import Role
from drover.web.auth import Authenticator

SECRETS = "n" * 32 + "," + "o" * 32
DEVICE = "018f2b5e-0000-7000-8000-00000000000a"


@pytest.fixture
def platform(monkeypatch):
    """Settings of a platform with servers of its own."""
    for name, value in {
        "DROVER_JWT_SECRETS": SECRETS,
        "DROVER_NATS_URL": "nats://n",
        "DROVER_POSTGRES_URL": "postgresql://p",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("role", [Role.ANON, Role.SERVICE_ROLE])
def test_a_key_is_signed_with_the_first_secret_and_has_the_role(platform, role):
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
    principal = Authenticator(["n" * 32]).authenticate({"apikey": result.output.strip()})
    assert (principal.role, principal.device_id, principal.name) == (Role.DEVICE, DEVICE, f"device:{DEVICE}")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["device"], "DEVICE_ID"), (["anon", DEVICE], "bound to no device"), (["device", "SERIAL0001"], "UUID")],
)
def test_a_device_and_its_role_come_together_or_not_at_all(platform, arguments, word):
    result = CliRunner().invoke(key, arguments)
    assert result.exit_code == 2
    assert word in result.output


def test_a_key_for_an_embedded_platform_is_signed_with_its_secret(tmp_path):
    secret = load_or_create_secrets(tmp_path).jwt_secret
    result = CliRunner().invoke(key, ["anon", "--data-dir", str(tmp_path), "--days", "1"])
    assert Authenticator([secret]).authenticate({"apikey": result.output.strip()}).role is Role.ANON


def test_without_a_platform_it_says_what_to_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DROVER_JWT_SECRETS", raising=False)
    result = CliRunner().invoke(key, ["anon"])
    assert result.exit_code == 2
    assert "--data-dir" in result.output


@pytest.mark.parametrize("role", ["admin", "operator", "viewer", "authenticated"])
def test_people_get_no_keys(role):
    answer = CliRunner().invoke(key, [role])
    assert answer.exit_code == 2
    assert "anon" in answer.output
