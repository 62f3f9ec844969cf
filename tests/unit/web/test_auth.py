"""API keys: which tokens are believed, and for how long."""

from __future__ import annotations

import base64
import json
from uuid import UUID

import jwt
import pytest

from drover.service.api_keys import Role, issue_api_key
from drover.web import auth
from drover.web.auth import Authenticator
from drover.web.errors import ApiError

NOW = 1_800_000_000.0
DEVICE = UUID("018f2b5e-0000-7000-8000-00000000000a")
SECRET, NEXT, FOREIGN = "a" * 64, "b" * 32, "c" * 32
NOT_UTF8 = b"\xe9.e30.e30".decode(errors="surrogateescape")
"""As aiohttp gives a header whose bytes are not UTF-8."""


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authenticator(clock) -> Authenticator:
    return Authenticator([SECRET, NEXT], clock=clock)


def key(role=Role.ANON, secret=SECRET, **options) -> str:
    return issue_api_key(secret, role, now_s=NOW, **options)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("secret", [SECRET, NEXT])
@pytest.mark.parametrize("role", [Role.ANON, Role.SERVICE_ROLE])
def test_a_key_signed_by_either_live_secret_is_believed(authenticator, secret, role):
    token = key(role, secret)
    for headers in ({"apikey": token}, {"Authorization": f"Bearer {token}"}, {"Authorization": f"bearer {token}"}):
        principal = authenticator.authenticate(headers)
        assert (principal.role, principal.name, principal.device_id) == (role, role.value, None)


def test_a_key_of_a_device_says_which_one_it_is(authenticator):
    principal = authenticator.authenticate({"apikey": key(Role.DEVICE, device_id=DEVICE)})
    assert (principal.role, principal.name, principal.device_id) == (Role.DEVICE, f"device:{DEVICE}", str(DEVICE))
    upper = jwt.encode({"role": "device", "device_id": str(DEVICE).upper()}, SECRET)
    assert authenticator.authenticate({"apikey": upper}).device_id == str(DEVICE), "one name for one device"
    both = {"apikey": key(Role.ANON), "Authorization": f"Bearer {key(Role.DEVICE, device_id=DEVICE)}"}
    assert authenticator.authenticate(both).device_id == str(DEVICE)


def test_authorization_says_who_it_is_and_the_apikey_must_be_good_too(authenticator):
    headers = {"apikey": key(Role.ANON), "Authorization": f"Bearer {key(Role.SERVICE_ROLE)}"}
    assert authenticator.authenticate(headers).role is Role.SERVICE_ROLE
    with pytest.raises(ApiError):
        authenticator.authenticate(headers | {"apikey": key(secret=FOREIGN)})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"apikey": ""},
        {"apikey": "nonsense"},
        {"apikey": "a.b.c"},
        {"apikey": key(secret=FOREIGN)},
        {"apikey": key()[:-2]},
        {"apikey": key() + "x" * 10_000},
        {"apikey": f"{part({'alg': 'none', 'typ': 'JWT'})}.{part({'role': 'service_role'})}."},
        {"apikey": f"{part({'alg': 'None'})}.{part({'role': 'service_role'})}.{part('x')}"},
        {"apikey": jwt.encode({"role": "service_role"}, SECRET, algorithm="HS512")},
        {"apikey": jwt.encode({"role": "postgres"}, SECRET)},
        {"apikey": jwt.encode({}, SECRET)},
        {"apikey": jwt.encode({"role": ["anon"]}, SECRET)},
        {"apikey": jwt.encode({"role": "device"}, SECRET)},
        {"apikey": jwt.encode({"role": "device", "device_id": None}, SECRET)},
        {"apikey": jwt.encode({"role": "device", "device_id": "SERIAL0001"}, SECRET)},
        {"apikey": jwt.encode({"role": "anon", "device_id": str(DEVICE)}, SECRET)},
        {"apikey": jwt.encode({"role": "service_role", "device_id": str(DEVICE)}, SECRET)},
        {"apikey": jwt.encode({"role": "anon", "exp": "soon"}, SECRET)},
        {"apikey": "ключ"},
        {"apikey": NOT_UTF8},
        {"Authorization": f"Bearer {NOT_UTF8}"},
        {"apikey": key(), "Authorization": f"Bearer {NOT_UTF8}"},
        {"Authorization": f"Basic {key()}"},
        {"Authorization": "Bearer"},
    ],
)
def test_any_other_token_is_refused(authenticator, headers):
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(headers)
    assert (caught.value.status, caught.value.code, caught.value.message) == (401, "UNAUTHORIZED", "Invalid API key")
    assert caught.value.headers["WWW-Authenticate"].startswith("Bearer")


def test_an_expired_token_says_so_even_when_it_was_verified_before(authenticator, clock):
    token = key(lifetime_s=60)
    authenticator.authenticate({"apikey": token})
    clock.now = NOW + 60
    for _ in range(2):
        with pytest.raises(ApiError) as caught:
            authenticator.authenticate({"apikey": token})
        assert (caught.value.status, caught.value.code) == (401, "TOKEN_EXPIRED")


def test_a_token_is_verified_once(authenticator, monkeypatch):
    token = key()
    authenticator.authenticate({"apikey": token})
    monkeypatch.setattr(jwt, "decode", lambda *args, **options: pytest.fail("verified again"))
    authenticator.authenticate({"apikey": token})


def test_the_memory_of_verified_tokens_has_a_bound(authenticator, monkeypatch):
    monkeypatch.setattr(auth, "VERIFIED_MAX", 3)
    for lifetime in range(10, 20):
        authenticator.authenticate({"apikey": key(lifetime_s=lifetime)})
    assert len(authenticator._verified) == 3


def test_what_can_be_written_in_many_ways_does_not_fill_the_memory(authenticator):
    for spaces in range(1000, 1010):
        assert authenticator.authenticate({"Authorization": f"Bearer{' ' * spaces}{key()}"}).role is Role.ANON
    assert len(authenticator._verified) == 0
    expired = {"Authorization": f"Bearer{' ' * 1000}{key(lifetime_s=-1)}"}
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(expired)
    assert caught.value.code == "TOKEN_EXPIRED"
