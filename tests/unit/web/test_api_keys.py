"""API keys with an id: who is believed, and how revocation and adoption change that."""

from __future__ import annotations

from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from drover.service.api_keys import Role, digest_of, issue_api_key, sign_api_key
from drover.service.identity_keys import IdentityKeys
from drover.service.verified_keys import verified_claims
from drover.web.auth import Authenticator
from drover.web.errors import ApiError
from drover.web.key_book import KeyBook
from drover.web.key_bucket import SIGNING, Adopted, Entry, encode_shards, encode_signing, public_keys_of
from tests.unit.web.known_keys import KnownKeys

pytestmark = pytest.mark.req("SE-01")

NOW = 1_800_000_000.0
SECRET, OTHER, SHARED = "i" * 32, "o" * 32, "h" * 32
KEY_ID = "eeeeeeee-0000-4000-8000-000000000001"
DEVICE = UUID("018f2b5e-0000-7000-8000-00000000000a")


@pytest.fixture
def keys() -> KnownKeys:
    return KnownKeys(SECRET)


@pytest.fixture
def authenticator(keys) -> Authenticator:
    return Authenticator((), keys=keys, clock=lambda: NOW)


def signed(role=Role.SERVICE_ROLE, secret=SECRET, key_id=KEY_ID, expires_s=NOW + 60, **options) -> str:
    return sign_api_key(IdentityKeys([secret]), role, key_id=key_id, now_s=NOW, expires_s=expires_s, **options)


def shared(role=Role.ANON) -> str:
    return issue_api_key(SHARED, role, now_s=NOW)


def refusal(authenticator, token) -> ApiError:
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate({"apikey": token})
    return caught.value


def test_a_signed_key_is_believed_without_any_secret(authenticator):
    principal = authenticator.authenticate({"apikey": signed()})
    assert (principal.role, principal.name, principal.key_names) == (Role.SERVICE_ROLE, "service_role", (KEY_ID,))
    phone = authenticator.authenticate({"apikey": signed(Role.DEVICE, device_id=DEVICE)})
    assert (phone.name, phone.device_id) == (f"device:{DEVICE}", str(DEVICE))


def test_a_key_of_another_platform_is_refused(authenticator):
    assert refusal(authenticator, signed(secret=OTHER)).status == 401


def test_an_expired_key_is_refused(authenticator):
    assert refusal(authenticator, signed(expires_s=NOW)).code == "TOKEN_EXPIRED"


@pytest.mark.parametrize("without", ["jti", "exp"])
def test_a_signed_key_has_an_id_and_an_end(authenticator, without):
    claims = {"role": "service_role", "jti": KEY_ID, "exp": NOW + 60}
    del claims[without]
    pair = IdentityKeys([SECRET]).api[0]
    token = jwt.encode(claims, pair.private, algorithm="ES256", headers={"kid": pair.kid})
    assert refusal(authenticator, token).status == 401


class FilledBucket:
    """The bucket of keys as `api` fills it."""

    def __init__(self, *secrets: str) -> None:
        published = encode_shards((), ()) | {SIGNING: encode_signing(public_keys_of(IdentityKeys(secrets)))}
        self.entries = {name: Entry(1, data) for name, data in published.items()}

    async def refresh(self) -> list[str]:
        return [*self.entries]


async def test_the_key_that_signs_peoples_tokens_signs_no_api_key():
    """A real book of keys decides here: it says what each key is for."""
    book = KeyBook(client=None, clock=lambda: NOW)
    book._bucket = FilledBucket(SECRET)
    await book.look()
    authenticator = Authenticator((), keys=book, clock=lambda: NOW)
    assert authenticator.authenticate({"apikey": signed()}).role is Role.SERVICE_ROLE
    pair = IdentityKeys([SECRET]).access[0]
    claims = {"role": "service_role", "jti": KEY_ID, "exp": NOW + 60}
    token = jwt.encode(claims, pair.private, algorithm="ES256", headers={"kid": pair.kid})
    assert refusal(authenticator, token).status == 401


def test_a_public_key_is_no_shared_secret(keys):
    """The classic mix-up: the public key, which anybody can read, used as the secret of an HMAC."""
    pair = IdentityKeys([SECRET]).api[0]
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    for secret in (pair.public.public_bytes(encoding, form).decode(), pair.jwk["x"], pair.kid):
        claims = {"role": "service_role", "jti": KEY_ID, "exp": NOW + 60}
        forged = jwt.api_jws.encode(
            jwt.utils.force_bytes(__import__("json").dumps(claims)),
            jwt.utils.force_bytes(secret.replace("-----", "")),
            algorithm="HS256",
            headers={"kid": pair.kid},
        )
        for secrets in ((), (SHARED,)):
            assert refusal(Authenticator(secrets, keys=keys, clock=lambda: NOW), forged).status == 401


def test_a_revoked_key_is_refused_at_once_although_it_was_verified_before(keys, authenticator):
    token = signed()
    principal = authenticator.authenticate({"apikey": token})
    keys.revoke(KEY_ID)
    for again in (token, signed()):
        assert (refusal(authenticator, again).status, refusal(authenticator, again).code) == (401, "UNAUTHORIZED")
    assert not authenticator.holds(principal)


def test_a_revoked_apikey_is_refused_also_beside_a_good_authorization(keys, authenticator):
    other = "eeeeeeee-0000-4000-8000-000000000002"
    headers = {"apikey": signed(), "Authorization": f"Bearer {signed(key_id=other)}"}
    principal = authenticator.authenticate(headers)
    keys.revoke(KEY_ID)
    with pytest.raises(ApiError):
        authenticator.authenticate(headers)
    assert not authenticator.holds(principal)


def test_a_withdrawn_public_key_ends_what_it_has_signed(keys, authenticator):
    token = signed()
    authenticator.authenticate({"apikey": token})
    keys.signing, keys.version = IdentityKeys([OTHER]), 1
    assert refusal(authenticator, token).status == 401


def test_an_adopted_key_is_believed_without_its_secret_and_has_the_recorded_rights(keys, authenticator):
    error = refusal(authenticator, shared())
    assert (error.status, "drover key adopt" in error.hint) == (401, True)
    keys.by_digest[digest_of(shared())] = Adopted(digest_of(shared()), "anon", NOW + 10)
    principal = authenticator.authenticate({"apikey": shared()})
    assert (principal.role, principal.expires_at) == (Role.ANON, NOW + 10)


def test_an_adopted_key_ends_when_its_record_says_so(keys, authenticator):
    keys.by_digest[digest_of(shared())] = Adopted(digest_of(shared()), "anon", NOW)
    assert refusal(authenticator, shared()).code == "TOKEN_EXPIRED"


@pytest.mark.parametrize(
    ("role", "device_id"), [("admin", None), ("nobody", None), ("device", None), ("device", "x"), ("anon", str(DEVICE))]
)
def test_a_record_makes_no_more_of_a_key_than_a_signature_could(keys, authenticator, role, device_id):
    keys.by_digest[digest_of(shared())] = Adopted(digest_of(shared()), role, NOW + 10, device_id)
    assert refusal(authenticator, shared()).status == 401


def test_a_revoked_adopted_key_is_refused_also_where_its_secret_is_known(keys):
    authenticator = Authenticator([SHARED], keys=keys, clock=lambda: NOW)
    principal = authenticator.authenticate({"apikey": shared()})
    keys.revoke(digest_of(shared()))
    assert refusal(authenticator, shared()).status == 401
    assert not authenticator.holds(principal)


def test_a_revoked_shared_key_is_refused_however_it_is_spelled(keys):
    authenticator = Authenticator([SHARED], keys=keys, clock=lambda: NOW)
    token = shared(Role.SERVICE_ROLE)
    assert authenticator.authenticate({"apikey": token}).role is Role.SERVICE_ROLE
    keys.revoke(digest_of(token))
    for spelled in (token, f"{token}=", f"{token}==", f"{token[:-1]} {token[-1]}", f"{token[:-2]}!!!!{token[-2:]}"):
        assert refusal(authenticator, spelled).status == 401, spelled


def test_a_key_that_is_spelled_otherwise_is_not_adopted():
    token = shared()
    assert verified_claims(token, None, [SHARED]) is not None
    assert verified_claims(f"{token}=", None, [SHARED]) is None


def test_a_process_that_cannot_know_says_503_and_never_401(keys, authenticator):
    authenticator.authenticate({"apikey": signed()})
    keys.cut_off()
    for token in (signed(), "nonsense", signed(secret=OTHER)):
        error = refusal(authenticator, token)
        assert (error.status, error.code, error.headers["Retry-After"]) == (503, "KEYS_UNKNOWN", "5")
    assert not authenticator.is_current
