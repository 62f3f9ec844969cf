"""The data directory and the files of secrets in it: modes, stability, and what is said when they cannot be used."""

from __future__ import annotations

import json
import os
import stat
import time
from uuid import UUID

import jwt
import msgspec
import pytest

from drover.embedded.credentials import load_or_create, load_or_create_secrets
from drover.embedded.directory import DataDirectory
from drover.embedded.errors import DataDirectoryBusy, DataDirectoryUnusable, ProgramMissing
from drover.service.api_keys import Role, issue_api_key
from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import Sealer

OLD_SECRET = "o" * 64
TEN_YEARS_S = 10 * 365 * 24 * 3600
URLS = ("http://127.0.0.1:8080", "nats://127.0.0.1:4222", "postgresql:///drover")


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def held(data_dir):
    with DataDirectory(data_dir) as directory:
        yield directory.path


def test_a_data_directory_is_private_and_names_its_holder(held):
    assert mode(held) == 0o700
    assert mode(held / "lock") == 0o600
    assert (held / "lock").read_text().strip() == str(os.getpid())


def test_a_data_directory_has_one_holder_at_a_time(data_dir):
    with DataDirectory(data_dir):
        with pytest.raises(DataDirectoryBusy) as caught, DataDirectory(data_dir):
            pass
        assert caught.value.pid == os.getpid()
    with DataDirectory(data_dir):
        pass


def test_a_data_directory_that_cannot_be_made_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirectoryUnusable, match="--data-dir"), DataDirectory(tmp_path / "file" / "data"):
        pass


@pytest.mark.req("EV-10")
def test_credentials_are_private_and_have_exactly_the_agreed_keys(held):
    load_or_create(held, *URLS)
    assert mode(held / "credentials.json") == 0o600
    assert mode(held / "secrets.json") == 0o600
    assert set(json.loads((held / "credentials.json").read_text())) == {
        "url",
        "anon_key",
        "service_key",
        "cron_secret",
        "admin_email",
        "admin_password",
        "nats_url",
        "postgres_url",
    }


def test_keys_are_tokens_with_a_role_as_those_of_supabase_are(held):
    credentials = load_or_create(held, *URLS)
    public = IdentityKeys([load_or_create_secrets(held).identity_secret]).api[0].public
    for key, role in ((credentials.anon_key, "anon"), (credentials.service_key, "service_role")):
        claims = jwt.decode(key, public, algorithms=["ES256"], issuer="drover")
        assert claims["role"] == role
        assert UUID(claims["jti"])
        assert claims["exp"] - claims["iat"] >= TEN_YEARS_S


def test_secrets_that_are_not_for_people_stay_out_of_the_credentials(held):
    load_or_create(held, *URLS)
    shown = (held / "credentials.json").read_text()
    secrets = load_or_create_secrets(held)
    assert secrets.identity_secret not in shown
    assert secrets.nats_system_password not in shown


def test_a_directory_from_before_there_were_people_gets_what_signs_and_seals_for_them(held):
    as_before(held)
    upgraded = load_or_create_secrets(held)
    assert upgraded.jwt_secret == OLD_SECRET
    Sealer.from_settings([upgraded.sealing_key])
    assert len(upgraded.identity_secret) >= 32
    assert load_or_create_secrets(held) == upgraded, "made once"
    assert mode(held / "secrets.json") == 0o600


@pytest.mark.req("SE-01")
def test_the_keys_of_an_older_directory_stay_as_they_are(held):
    first = load_or_create(held, *URLS)
    as_before(held)
    keys = [issue_api_key(OLD_SECRET, role, now_s=time.time()) for role in (Role.ANON, Role.SERVICE_ROLE)]
    older = msgspec.structs.replace(first, anon_key=keys[0], service_key=keys[1])
    (held / "credentials.json").write_bytes(msgspec.json.encode(older))
    for _ in range(2):
        now = load_or_create(held, *URLS)
        assert [now.anon_key, now.service_key] == keys


@pytest.mark.req("SE-01")
def test_a_new_directory_has_no_shared_secret(held):
    assert load_or_create_secrets(held).jwt_secret == ""


def as_before(held) -> None:
    """Make the secrets those of a version in which API keys had a shared secret and nobody signed in."""
    load_or_create_secrets(held)
    old = {
        name: value
        for name, value in json.loads((held / "secrets.json").read_text()).items()
        if name not in ("sealing_key", "identity_secret")
    }
    (held / "secrets.json").write_text(json.dumps(old | {"jwt_secret": OLD_SECRET}))


def test_a_restart_changes_nothing_but_the_addresses(held):
    first = load_or_create(held, *URLS)
    before = (held / "credentials.json").stat().st_ino
    assert load_or_create(held, *URLS) == first
    assert (held / "credentials.json").stat().st_ino == before, "not even written again"
    moved = load_or_create(held, "http://127.0.0.1:9090", *URLS[1:])
    assert moved.url == "http://127.0.0.1:9090"
    assert (moved.anon_key, moved.service_key, moved.cron_secret) == (
        first.anon_key,
        first.service_key,
        first.cron_secret,
    )
    assert (moved.admin_email, moved.admin_password) == (first.admin_email, first.admin_password)
    assert mode(held / "credentials.json") == 0o600


def test_keys_that_no_longer_fit_the_secret_are_issued_anew(held):
    first = load_or_create(held, *URLS)
    (held / "secrets.json").unlink()
    second = load_or_create(held, *URLS)
    assert second.anon_key != first.anon_key
    public = IdentityKeys([load_or_create_secrets(held).identity_secret]).api[0].public
    jwt.decode(second.anon_key, public, algorithms=["ES256"], issuer="drover")
    assert second.admin_password == first.admin_password


@pytest.mark.parametrize("content", ["", "{", '{"url": 1}', "[]"])
def test_credentials_that_cannot_be_read_are_never_overwritten(held, content):
    (held / "credentials.json").write_text(content)
    with pytest.raises(DataDirectoryUnusable, match=r"credentials\.json"):
        load_or_create(held, *URLS)
    assert (held / "credentials.json").read_text() == content


async def test_root_without_setpriv_is_told_what_to_do(data_dir, monkeypatch):
    from drover.embedded import account

    monkeypatch.setattr(account.os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ProgramMissing, match="util-linux"):
        account.as_account(["postgres"], account.account_for(data_dir))
