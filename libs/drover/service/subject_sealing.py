"""Encrypts personal data with the key of its subject (the person or render that it is about), and wraps (encrypts) such
keys for storage. Destroying the key erases the data (ADR 0045).

Where keys are stored, and who may get them, is decided elsewhere.
"""

from __future__ import annotations

import os
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from drover.domain.erasure import TOKEN_FORM, KeyRef, SealedText, parse_sealed
from drover.domain.errors import DroverError
from drover.service.sealing import KEY_BYTES, NONCE_BYTES, Ring, SealDamaged, UnknownSealingKey, bound

DEFLATED_FROM_BYTES: Final = 512
"""Data of at least this many bytes is compressed before it is encrypted, because ciphertext cannot be compressed."""
PLAINTEXT_BYTES_MAX: Final = 64 * 1024 * 1024
_LEVEL: Final = 1
_PLAIN: Final = b"="
_DEFLATED: Final = b"z"

Token = Annotated[str, msgspec.Meta(pattern=TOKEN_FORM)]


class Erased(DroverError):
    """The key of the data's subject was destroyed, or it never existed."""

    def __init__(self) -> None:
        super().__init__("The data was erased")


class KeysUnreachable(DroverError):
    """The keys of subjects cannot be read or written at the moment."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The keys of personal data cannot be reached ({reason}); try again")


CANNOT_OPEN: Final = (Erased, SealDamaged, UnknownSealingKey)
"""The errors which say that a sealed text cannot be opened. UnknownSealingKey may pass once the key is in the settings
again; the others are final."""


class WrappedKey(msgspec.Struct, frozen=True):
    """The key of a subject, encrypted with the ring of its context. In this form it is stored and sent."""

    token: Token
    generation: Annotated[int, msgspec.Meta(ge=0)]
    kid: str
    """The id of the ring's key that encrypted it."""
    wrap: bytes


class SubjectKey(msgspec.Struct, frozen=True):
    """The key of a subject, ready for use. It must not be stored."""

    ref: KeyRef
    cipher: AESGCM

    def seal(self, plaintext: bytes, *, purpose: str) -> str:
        """Encrypt data. `purpose`: what the data is, such as the name of its column. `open` needs the same purpose."""
        assert len(plaintext) <= PLAINTEXT_BYTES_MAX
        nonce = os.urandom(NONCE_BYTES)
        content = nonce + self.cipher.encrypt(nonce, _packed(plaintext), _about(self.ref, purpose))
        return str(SealedText(self.ref, urlsafe_b64encode(content).decode().rstrip("=")))

    def open(self, sealed: SealedText, *, purpose: str) -> bytes:
        """Decrypt data. Raises SealDamaged."""
        content = urlsafe_b64decode(sealed.payload + "=" * (-len(sealed.payload) % 4))
        try:
            plain = self.cipher.decrypt(content[:NONCE_BYTES], content[NONCE_BYTES:], _about(self.ref, purpose))
            return _unpacked(plain)
        except (InvalidTag, ValueError, zlib.error):
            raise SealDamaged("its content was changed") from None


def make_key(ring: Ring, context: str, token: str, generation: int) -> WrappedKey:
    """Make a new random key for a subject. It is returned encrypted with the ring."""
    return _wrapped(ring, context, token, generation, os.urandom(KEY_BYTES))


def unwrap(ring: Ring, context: str, partition: str, key: WrappedKey) -> SubjectKey:
    """Decrypt a stored key. Raises UnknownSealingKey or SealDamaged."""
    secret = ring.unwrap(key.kid, key.wrap, *_names(context, key.token, key.generation))
    return SubjectKey(KeyRef(partition, key.token, key.generation), AESGCM(secret))


def rewrap(ring: Ring, context: str, key: WrappedKey) -> WrappedKey:
    """Encrypt the same key again with the first key of the ring."""
    secret = ring.unwrap(key.kid, key.wrap, *_names(context, key.token, key.generation))
    return _wrapped(ring, context, key.token, key.generation, secret)


def parse_or_raise(text: str) -> SealedText:
    found = parse_sealed(text)
    if found is None:
        raise SealDamaged("it is not a sealed text")
    return found


def _wrapped(ring: Ring, context: str, token: str, generation: int, secret: bytes) -> WrappedKey:
    return WrappedKey(token, generation, ring.current, ring.wrap(secret, *_names(context, token, generation)))


def _names(context: str, token: str, generation: int) -> tuple[str, ...]:
    return "subject", context, token, str(generation)


def _about(ref: KeyRef, purpose: str) -> bytes:
    return bound("subject content", ref.token, str(ref.generation), purpose)


def _packed(plaintext: bytes) -> bytes:
    if len(plaintext) < DEFLATED_FROM_BYTES:
        return _PLAIN + plaintext
    return _DEFLATED + zlib.compress(plaintext, _LEVEL)


def _unpacked(content: bytes) -> bytes:
    return zlib.decompress(content[1:]) if content[:1] == _DEFLATED else content[1:]
