"""`drover token`: signs in as a person. The token is printed alone, so that a shell can keep it."""

from __future__ import annotations

import io
import json
import sys

import msgspec
import pytest

from drover.cli.exits import Exit
from drover.embedded.credentials import Credentials

pytestmark = pytest.mark.req("SE-02")

PATH = "/auth/v1/token"
SIGNED_IN = {"access_token": "the-token", "expires_at": 2_000_000_000}


@pytest.fixture
def platform(double):
    double.answer(PATH, SIGNED_IN)
    return double


@pytest.fixture
def directory(platform, tmp_path, monkeypatch):
    monkeypatch.delenv("DROVER_URL")
    known = Credentials(platform.url, "anon", "service", "cron", "admin@drover.local", "its word", "nats", "postgres")
    (tmp_path / "credentials.json").write_bytes(msgspec.json.encode(known))
    return tmp_path


def sent(platform):
    ((method, url, headers, body),) = platform.requests
    assert (method, url) == ("POST", f"{PATH}?grant_type=password")
    assert "apikey" not in headers
    return json.loads(body)


def test_a_person_signs_in_with_a_password_of_standard_input(platform, drover, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("the word \n"))
    code, out, err = drover("token", "kim@example.com", "--password-stdin")
    assert (code, out) == (Exit.OK, "the-token\n")
    assert err.startswith("Signed in as kim@example.com until 2033-05-18 ")
    assert sent(platform) == {"email": "kim@example.com", "password": "the word "}


def test_the_first_admin_signs_in_with_the_data_directory(platform, directory, drover):
    code, out, _ = drover("token", "--data-dir", str(directory))
    assert (code, out) == (Exit.OK, "the-token\n")
    assert sent(platform) == {"email": "admin@drover.local", "password": "its word"}


def test_the_password_of_a_data_directory_is_never_sent_to_another_address(platform, directory, drover):
    for options in (("--url", platform.url), ("--url", platform.url, "--data-dir", str(directory))):
        code, _, err = drover("token", *options)
        assert code == Exit.USAGE
        assert "Name your account" in err
    assert platform.requests == []


def test_a_wrong_password_says_what_to_do(platform, drover, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("wrong\n"))
    platform.answer(PATH, {"error": "INVALID_CREDENTIALS", "message": "Invalid login credentials"}, status=400)
    code, out, err = drover("token", "kim@example.com", "--password-stdin")
    assert (code, out) == (Exit.FAILED, "")
    assert "does not accept this password for kim@example.com, or has no such account" in err
    assert "`drover account password`" in err


def test_without_a_terminal_there_is_nobody_to_ask(platform, drover, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    code, _, err = drover("token", "kim@example.com")
    assert code == Exit.USAGE
    assert "--password-stdin" in err
    assert platform.requests == []
