"""The keys for people's tokens and for API keys, all derived from one secret. `access_tokens`, `api_keys` and the HTTP
services use them.

Access tokens and API keys are signed with ES256, each kind with a key of its own. So services can verify both with
public keys, but cannot issue any. Other systems can verify access tokens with the published key set, and Supabase's
clients support ES256. All other derived keys are HMAC keys.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from drover.service.config import not_set

ALGORITHM: Final = "ES256"
"""The only algorithm that is accepted: a token must never choose how it is verified."""
KEY_BYTES: Final = 32
SCALAR_BYTES: Final = 48
"""How many bytes are derived for a private key: 128 bits more than the curve needs. The private key is their remainder
after division by the curve's order minus 1, and the extra bits make it almost uniform (FIPS 186-5, A.2.1)."""
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256


class KeyPair:
    """A pair of keys for ES256, derived from a secret for one purpose."""

    def __init__(self, secret: str, purpose: str) -> None:
        scalar = int.from_bytes(_derive(secret, purpose, SCALAR_BYTES)) % (_ORDER - 1) + 1
        self.private = ec.derive_private_key(scalar, ec.SECP256R1())
        self.public = self.private.public_key()
        numbers = self.public.public_numbers()
        self.jwk = {
            "kty": "EC",
            "crv": "P-256",
            "x": _base64(numbers.x.to_bytes(KEY_BYTES)),
            "y": _base64(numbers.y.to_bytes(KEY_BYTES)),
        }
        self.kid = _thumbprint(self.jwk)


class _Derived:
    """The keys derived from one secret."""

    def __init__(self, secret: str) -> None:
        self.access = KeyPair(secret, "access token, ES256")
        self.api = KeyPair(secret, "API key, ES256")
        self.refresh = _derive(secret, "refresh token")
        self.email = _derive(secret, "e-mail address")


class IdentityKeys:
    """The keys derived from one or two secrets. Those of the first secret sign, those of both verify."""

    def __init__(self, secrets: Sequence[str]) -> None:
        if not secrets:
            raise not_set("DROVER_IDENTITY_SECRETS")
        self._derived = [_Derived(secret) for secret in secrets]

    @property
    def signing(self) -> tuple[str, ec.EllipticCurvePrivateKey]:
        """Return the id and the private key with which access tokens are signed."""
        return self._derived[0].access.kid, self._derived[0].access.private

    @property
    def verifying(self) -> dict[str, ec.EllipticCurvePublicKey]:
        """Return the public keys of access tokens, by id."""
        return {pair.kid: pair.public for pair in self.access}

    def person_key(self, kid: str) -> ec.EllipticCurvePublicKey | None:
        return self.verifying.get(kid)

    @property
    def access(self) -> list[KeyPair]:
        """Return the key pairs for access tokens. The first one signs."""
        return [derived.access for derived in self._derived]

    @property
    def api(self) -> list[KeyPair]:
        """Return the key pairs for API keys. The first one signs."""
        return [derived.api for derived in self._derived]

    @property
    def refresh(self) -> list[bytes]:
        """Return the HMAC keys of refresh tokens, the current one first."""
        return [derived.refresh for derived in self._derived]

    def jwks(self) -> dict[str, list[dict[str, Any]]]:
        """Return the public keys of access tokens as a JWK set, for other systems."""
        about = {"alg": ALGORITHM, "use": "sig", "key_ops": ["verify"]}
        return {"keys": [{**pair.jwk, "kid": pair.kid, **about} for pair in self.access]}

    def email_hashes(self, address: str) -> tuple[str, ...]:
        """Return the hashes by which an e-mail address is looked up, that of the current key first."""
        return tuple(hmac.new(derived.email, address.encode(), sha256).hexdigest() for derived in self._derived)


def _derive(secret: str, purpose: str, length: int = KEY_BYTES) -> bytes:
    info = f"drover identity: {purpose}".encode()
    return HKDF(hashes.SHA256(), length, salt=None, info=info).derive(secret.encode())


def _thumbprint(jwk: dict[str, str]) -> str:
    """Compute the id of a public key by RFC 7638."""
    members = {name: jwk[name] for name in ("crv", "kty", "x", "y")}
    return _base64(sha256(msgspec.json.encode(members)).digest())


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
