"""`drover key`: what it issues is what the edges accept."""

import pytest
from click.testing import CliRunner

from drover.cli.key import key
from drover.embedded.credentials import load_or_create_secrets
from drover.service.api_keys import Role
from drover.web.auth import Authenticator

SECRETS = "n" * 32 + "," + "o" * 32


@pytest.mark.parametrize("role", list(Role))
def test_a_key_is_signed_with_the_first_secret_and_has_the_role(monkeypatch, role):
    for name, value in {
        "DROVER_JWT_SECRETS": SECRETS,
        "DROVER_NATS_URL": "nats://n",
        "DROVER_POSTGRES_URL": "postgresql://p",
    }.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(key, [role.value])
    assert result.exit_code == 0, result.output
    assert Authenticator(["n" * 32]).authenticate({"apikey": result.output.strip()}).role is role


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
