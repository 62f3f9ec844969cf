"""People's tokens: which are believed, of which issuer, and every attack on them that is known."""

from __future__ import annotations

import base64
import hmac
import json
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from drover.service.access_tokens import AUDIENCE, ISSUER, issue_access_token
from drover.service.api_keys import Role, issue_api_key
from drover.service.identity_keys import IdentityKeys
from drover.web.auth import Authenticator
from drover.web.errors import ApiError
from drover.web.jwks import KeySet
from drover.web.people import LEEWAY_S, BuiltIn, Foreign

NOW = 1_800_000_000.0
SECRET, OLD, OTHER = "s" * 32, "o" * 32, "x" * 32
API_SECRET = "a" * 32
KIM, SESSION = str(uuid4()), str(uuid4())
KEYS = IdentityKeys([SECRET, OLD])
FOREIGN_ISSUER, FOREIGN_AUDIENCE = "https://issuer.example.com", "drover"

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def jwk(key, kid: str) -> dict:
    algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig"}


@pytest.fixture
async def keys():
    """The foreign issuer's keys, fetched."""

    async def fetch() -> bytes:
        return json.dumps({"keys": [jwk(RSA_KEY, "rsa"), jwk(EC_KEY, "ec")]}).encode()

    keys = KeySet(fetch)
    await keys.refresh()
    return keys


@pytest.fixture
def authenticator(keys, clock):
    """API keys, the built-in issuer and a foreign one."""
    return believing(keys, clock, audience=FOREIGN_AUDIENCE)


def believing(keys: KeySet, clock: Clock, *, audience: str | None, parties: tuple[str, ...] = ()) -> Authenticator:
    foreign = Foreign(
        keys,
        issuer=FOREIGN_ISSUER,
        audience=audience,
        authorized_parties=parties,
        role_claim="drover_role",
    )
    return Authenticator([API_SECRET], people=[BuiltIn(KEYS), foreign], ended={"ended"}, clock=clock)


def own(keys: IdentityKeys = KEYS, **more) -> str:
    told = {"account_id": KIM, "session_id": SESSION, "role": Role.OPERATOR, "now_s": NOW, "lifetime_s": 900} | more
    return issue_access_token(keys, **told)


CLAIMS = {"iss": FOREIGN_ISSUER, "aud": FOREIGN_AUDIENCE, "sub": "user_abc123", "exp": NOW + 60, "sid": "sess_1"}


def theirs(key=RSA_KEY, kid: str | None = "rsa", algorithm: str = "RS256", **claims) -> str:
    told = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return jwt.encode(told, key, algorithm=algorithm, headers={} if kid is None else {"kid": kid})


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refused(authenticator, token: str) -> ApiError:
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(bearer(token))
    return caught.value


@pytest.mark.req("SY-09")
def test_a_token_of_ours_says_who_it_is(authenticator):
    principal = authenticator.authenticate(bearer(own()))
    assert (principal.role, principal.name) == (Role.OPERATOR, f"user:{KIM}")
    assert (principal.user_id, principal.session_id, principal.issuer) == (KIM, SESSION, ISSUER)
    assert principal.expires_at == NOW + 900
    assert principal.device_id is None


def test_a_token_under_the_secret_on_its_way_out_is_still_good(authenticator):
    assert authenticator.authenticate(bearer(own(IdentityKeys([OLD])))).user_id == KIM


def test_a_supabase_client_sends_the_anon_key_along(authenticator):
    headers = bearer(own()) | {"apikey": issue_api_key(API_SECRET, Role.ANON, now_s=NOW)}
    assert authenticator.authenticate(headers).user_id == KIM
    with pytest.raises(ApiError):
        authenticator.authenticate(bearer(own()) | {"apikey": issue_api_key(OTHER, Role.ANON, now_s=NOW)})


@pytest.mark.req("SY-09")
@pytest.mark.parametrize(("key", "kid", "algorithm"), [(RSA_KEY, "rsa", "RS256"), (EC_KEY, "ec", "ES256")])
def test_a_token_of_another_issuer_is_believed_by_its_published_keys(authenticator, key, kid, algorithm):
    principal = authenticator.authenticate(bearer(theirs(key, kid, algorithm)))
    assert (principal.user_id, principal.session_id) == ("user_abc123", "sess_1")
    assert (principal.role, principal.name) == (Role.AUTHENTICATED, "user:user_abc123")
    assert principal.issuer == FOREIGN_ISSUER


@pytest.mark.parametrize(
    ("claimed", "role"),
    [
        ("admin", Role.ADMIN),
        ("viewer", Role.VIEWER),
        ("service_role", Role.AUTHENTICATED),
        ("anon", Role.AUTHENTICATED),
        (["admin"], Role.AUTHENTICATED),
        (None, Role.AUTHENTICATED),
    ],
)
def test_its_claim_makes_people_what_people_can_be_and_nothing_else(authenticator, claimed, role):
    assert authenticator.authenticate(bearer(theirs(drover_role=claimed))).role is role


@pytest.mark.req("SY-09", "SY-17", "SY-20")
def test_an_expired_token_says_so(authenticator, clock):
    token, foreign = own(), theirs()
    authenticator.authenticate(bearer(token))
    clock.now = NOW + 900
    for each in (token, foreign):
        error = refused(authenticator, each)
        assert (error.status, error.code) == (401, "TOKEN_EXPIRED")
        assert error.plain == ("TOKEN_EXPIRED", "Please refresh your token")


def test_clocks_of_issuers_may_differ_by_less_than_a_minute(authenticator, clock):
    assert LEEWAY_S <= 60
    clock.now = NOW + 60 + LEEWAY_S - 1
    assert authenticator.authenticate(bearer(theirs())).user_id
    clock.now = NOW + 60 + LEEWAY_S
    assert refused(authenticator, theirs()).code == "TOKEN_EXPIRED"
    clock.now = NOW
    assert authenticator.authenticate(bearer(theirs(nbf=NOW + LEEWAY_S))).user_id
    assert refused(authenticator, theirs(nbf=NOW + LEEWAY_S + 1)).code == "INVALID_TOKEN"


@pytest.mark.req("DI-06")
@pytest.mark.parametrize("missing", ["aud", "sub", "role", "session_id", "iat"])
def test_an_expired_token_of_ours_says_so_whatever_else_is_missing(authenticator, missing):
    payload = {name: value for name, value in own_payload(exp=NOW - 1).items() if name != missing}
    token = jwt.encode(payload, PRIVATE, algorithm="ES256", headers={"kid": KID})
    assert refused(authenticator, token).code == "TOKEN_EXPIRED"


@pytest.mark.req("DI-06")
@pytest.mark.parametrize("wrong", [{"aud": None}, {"aud": "other"}, {"sub": None}, {"sub": ""}, {"sid": 7}, {"azp": 7}])
def test_an_expired_token_of_another_issuer_says_so_whatever_else_is_missing(authenticator, wrong):
    assert refused(authenticator, theirs(exp=NOW - LEEWAY_S, **wrong)).code == "TOKEN_EXPIRED"


@pytest.mark.req("DI-06")
def test_an_expired_api_key_says_so_whatever_else_is_missing(authenticator):
    assert refused(authenticator, jwt.encode({"exp": NOW}, API_SECRET)).code == "TOKEN_EXPIRED"
    assert refused(authenticator, jwt.encode({"exp": NOW + 1}, API_SECRET)).code == "UNAUTHORIZED"


@pytest.mark.req("DI-06")
def test_a_token_that_nobody_signed_is_invalid_even_if_it_claims_to_be_expired(authenticator):
    assert refused(authenticator, theirs(STRANGER, exp=NOW - 100)).code == "INVALID_TOKEN"


CLERK = {
    "aud": None,
    "azp": "https://saju.example.com",
    "fva": [0, -1],
    "iat": NOW - 1,
    "nbf": NOW - 11,
    "sts": "active",
    "v": 2,
}


@pytest.mark.req("DI-06")
def test_clerks_session_tokens_are_believed_where_no_audience_is_configured(keys, clock):
    authenticator = believing(keys, clock, audience=None)
    principal = authenticator.authenticate(bearer(theirs(**CLERK)))
    assert (principal.user_id, principal.session_id) == ("user_abc123", "sess_1")
    assert (principal.role, principal.issuer) == (Role.AUTHENTICATED, FOREIGN_ISSUER)


@pytest.mark.req("DI-06")
@pytest.mark.parametrize("audience", ["somebody-else", ["somebody-else"], "", [], [None], 7])
def test_without_an_audience_tokens_for_an_audience_are_refused(keys, clock, audience):
    """RFC 7519, 4.1.3: we are not the audience that such a token names."""
    error = refused(believing(keys, clock, audience=None), theirs(**CLERK | {"aud": audience}))
    assert error.code == "INVALID_TOKEN"


@pytest.mark.req("DI-06")
def test_an_audience_among_several_is_enough(authenticator):
    assert authenticator.authenticate(bearer(theirs(aud=["other", FOREIGN_AUDIENCE]))).user_id


@pytest.mark.req("DI-06")
def test_authorized_parties_are_checked_where_they_are_configured(keys, clock):
    parties = ("https://saju.example.com", "https://admin.example.com")
    authenticator = believing(keys, clock, audience=None, parties=parties)
    assert authenticator.authenticate(bearer(theirs(**CLERK))).user_id
    for azp in ("https://evil.example.com", "https://saju.example.com.evil.com", "", None, 7, list(parties)):
        error = refused(authenticator, theirs(**CLERK | {"azp": azp}))
        assert error.code == "INVALID_TOKEN"
        assert "azp" in (error.details or "")


@pytest.mark.req("SY-13")
def test_a_session_that_has_ended_takes_its_tokens_with_it(authenticator):
    error = refused(authenticator, own(session_id="ended"))
    assert error.code == "TOKEN_EXPIRED", "whoever refreshes then learns that the session is over"


def header(**claims) -> str:
    return part({"typ": "JWT", **claims})


def own_payload(**more) -> dict:
    return {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": KIM,
        "role": "admin",
        "session_id": SESSION,
        "exp": NOW + 60,
    } | more


def tampered(token: str, **claims) -> str:
    """The same signature under other claims."""
    head, body, signature = token.split(".")
    told = json.loads(base64.urlsafe_b64decode(body + "=="))
    return ".".join((head, part(told | claims), signature))


def signed_with_the_public_key() -> str:
    """What PyJWT itself refuses to make."""
    body = f"{header(alg='HS256', kid='rsa')}.{part(CLAIMS)}"
    pem = RSA_KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    signature = hmac.new(pem, body.encode(), "sha256").digest()
    return f"{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


KID, PRIVATE = KEYS.signing
ATTACKS = {
    "alg none": f"{header(alg='none', kid=KID)}.{part(own_payload())}.",
    "alg None": f"{header(alg='None', kid=KID)}.{part(own_payload())}.",
    "alg nONE with a signature": f"{header(alg='nONE', kid=KID)}.{part(own_payload())}.{part('x')}",
    "HS256 with our public key": jwt.encode(own_payload(), "k" * 64, algorithm="HS256", headers={"kid": KID}),
    "HS256 with the API secret": jwt.encode(own_payload(), API_SECRET, algorithm="HS256", headers={"kid": KID}),
    "HS256 with the API secret and no kid": jwt.encode(own_payload(), API_SECRET, algorithm="HS256"),
    "a foreign kid": issue_access_token(
        IdentityKeys([OTHER]), account_id=KIM, session_id=SESSION, role=Role.ADMIN, now_s=NOW, lifetime_s=60
    ),
    "our kid on a stranger's signature": jwt.encode(
        own_payload(), ec.generate_private_key(ec.SECP256R1()), algorithm="ES256", headers={"kid": KID}
    ),
    "a kid that is a path": jwt.encode(own_payload(), "\n" * 32, algorithm="HS256", headers={"kid": "../../dev/null"}),
    "a kid that is no text": f"{header(alg='ES256', kid=[KID])}.{part(own_payload())}.{part('x')}",
    "a key of its own in the header": jwt.encode(
        own_payload(),
        EC_KEY,
        algorithm="ES256",
        headers={"kid": "mine", "jwk": jwk(EC_KEY, "mine"), "jku": "https://evil.example.com/jwks"},
    ),
    "wrong audience": jwt.encode(own_payload(aud="other"), PRIVATE, algorithm="ES256", headers={"kid": KID}),
    "no audience": jwt.encode(
        {k: v for k, v in own_payload().items() if k != "aud"}, PRIVATE, algorithm="ES256", headers={"kid": KID}
    ),
    "no end": jwt.encode(
        {k: v for k, v in own_payload().items() if k != "exp"}, PRIVATE, algorithm="ES256", headers={"kid": KID}
    ),
    "an end that is no number": jwt.encode(own_payload(exp="soon"), PRIVATE, algorithm="ES256", headers={"kid": KID}),
    "an end that never comes": jwt.encode(
        own_payload(exp=float("inf")), PRIVATE, algorithm="ES256", headers={"kid": KID}
    ),
    "no session": jwt.encode(
        {k: v for k, v in own_payload().items() if k != "session_id"},
        PRIVATE,
        algorithm="ES256",
        headers={"kid": KID},
    ),
    "the back office's role": jwt.encode(
        own_payload(role="service_role"), PRIVATE, algorithm="ES256", headers={"kid": KID}
    ),
    "tampered": tampered(own(), role="admin"),
    "tampered session": tampered(own(), session_id=str(uuid4())),
    "no signature": own().rpartition(".")[0] + ".",
    "too long": own() + "A" * 5000,
    "theirs: alg none": f"{header(alg='none', kid='rsa')}.{part(CLAIMS)}.",
    "theirs: HS256 with their public key": signed_with_the_public_key(),
    "theirs: RS512": theirs(algorithm="RS512"),
    "theirs: PS256": theirs(algorithm="PS256"),
    "theirs: ES256 under the RSA key's kid": theirs(EC_KEY, "rsa", "ES256"),
    "theirs: a stranger's key under a good kid": theirs(STRANGER),
    "theirs: a foreign kid": theirs(STRANGER, "stranger"),
    "theirs: no kid": theirs(kid=None),
    "theirs: wrong audience": theirs(aud="somebody-else"),
    "theirs: no audience": theirs(aud=None),
    "theirs: no end": theirs(exp=None),
    "theirs: nobody": theirs(sub=""),
    "theirs: a name with a line feed": theirs(sub="a\nb"),
    "theirs: no name": theirs(sub=None),
    "theirs: tampered": tampered(theirs(), drover_role="admin"),
    "theirs, claiming to be ours": theirs(iss=ISSUER, aud=AUDIENCE),
    "ours, claiming to be theirs": jwt.encode(
        own_payload(iss=FOREIGN_ISSUER, aud=FOREIGN_AUDIENCE), PRIVATE, algorithm="ES256", headers={"kid": KID}
    ),
    "an issuer that nobody knows": theirs(iss="https://evil.example.com"),
    "no issuer": theirs(iss=None),
    "an issuer that is no text": tampered(theirs(), iss=[ISSUER]),
    "a person's role on an API key": jwt.encode({"role": "admin"}, API_SECRET),
    "somebody without a role on an API key": jwt.encode({"role": "authenticated"}, API_SECRET),
    "not even a token": "nonsense",
    "empty parts": "..",
    "a payload that is no JSON": f"{header(alg='ES256', kid=KID)}.{base64.urlsafe_b64encode(b'{').decode()}.x",
    "a payload nested without end": f"{header(alg='ES256', kid=KID)}.{base64.b64encode(b'[' * 2000).decode()}.x",
}


@pytest.mark.req("SY-09", "SY-17")
@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_fails(authenticator, attack):
    error = refused(authenticator, ATTACKS[attack])
    assert error.status == 401
    assert error.plain == ("INVALID_TOKEN", "Invalid authentication token")
    assert error.code in ("INVALID_TOKEN", "UNAUTHORIZED")
    assert len(authenticator._verified) == 0, "and nothing of it is remembered"


@pytest.mark.req("SY-09", "SY-17")
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic a2ltOnB3"}, {"Authorization": "Bearer"}])
def test_no_token_at_all_is_a_missing_one(authenticator, headers):
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(headers)
    assert caught.value.plain == ("UNAUTHORIZED", "Missing token")
    assert (caught.value.code, caught.value.message) == ("UNAUTHORIZED", "Invalid API key"), "as 000 has it under /rest"


def test_without_issuers_people_are_nobody():
    with pytest.raises(ApiError) as caught:
        Authenticator([API_SECRET]).authenticate(bearer(own()))
    assert caught.value.code == "UNAUTHORIZED"


def test_a_persons_token_is_verified_once_too(authenticator, monkeypatch):
    authenticator.authenticate(bearer(own()))
    token = next(iter(authenticator._verified))[1]
    monkeypatch.setattr(jwt, "decode", lambda *args, **options: pytest.fail("verified again"))
    authenticator.authenticate({"Authorization": token})
