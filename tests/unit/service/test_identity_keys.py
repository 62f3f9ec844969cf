"""What is derived from an identity secret: stable, separate by purpose, and two live at a time."""

from __future__ import annotations

import json

import jwt
import pytest

from drover.service.config import ConfigurationError
from drover.service.identity_keys import IdentityKeys

SECRET, OTHER = "s" * 32, "o" * 32


def test_the_same_secret_gives_the_same_keys_on_every_machine():
    first, again = IdentityKeys([SECRET]), IdentityKeys([SECRET])
    assert first.signing[0] == again.signing[0] == "a5qZnTObG6sFC9u1hhHsNvEy-Iht6WILTNO4nk2_2dM"
    assert first.refresh == again.refresh
    assert first.email_hashes("kim@example.com") == again.email_hashes("kim@example.com")


def test_another_secret_gives_others_and_no_key_serves_two_purposes():
    one, other = IdentityKeys([SECRET]), IdentityKeys([OTHER])
    assert one.signing[0] != other.signing[0]
    assert one.refresh != other.refresh
    assert one.email_hashes("kim@example.com") != other.email_hashes("kim@example.com")
    scalar = one.signing[1].private_numbers().private_value.to_bytes(32)
    api = one.api[0].private.private_numbers().private_value.to_bytes(32)
    assert len({scalar, api, *one.refresh, one._derived[0].email}) == 4


def test_the_first_secret_signs_and_both_are_believed():
    both = IdentityKeys([SECRET, OTHER])
    assert both.signing[0] == IdentityKeys([SECRET]).signing[0]
    assert list(both.verifying) == [IdentityKeys([SECRET]).signing[0], IdentityKeys([OTHER]).signing[0]]
    assert len(both.email_hashes("kim@example.com")) == 2


def test_the_published_keys_are_public_and_verify():
    keys = IdentityKeys([SECRET])
    kid, private = keys.signing
    token = jwt.encode({"x": 1}, private, algorithm="ES256", headers={"kid": kid})
    (published,) = keys.jwks()["keys"]
    assert published["kid"] == kid
    assert "d" not in published
    public = jwt.algorithms.ECAlgorithm.from_jwk(json.dumps(published))
    assert jwt.decode(token, public, algorithms=["ES256"]) == {"x": 1}


def test_without_a_secret_it_says_what_to_set():
    with pytest.raises(ConfigurationError, match=r"DROVER_IDENTITY_SECRETS=.*openssl rand -hex 32"):
        IdentityKeys([])
