"""Encrypts data that must not be readable in the log, such as personal fields and gfx data, with AES-256-GCM.

Each record is encrypted with its own data key, and the data key with a key from the settings (the ring). So changing
the ring's key re-encrypts 32 bytes and not the content, and deleting the encrypted data key erases the record. Which
data is sealed is decided elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Sequence
from typing import Final, Self

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from drover.domain.errors import DroverError

VERSION: Final = 1
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
PLAINTEXT_BYTES_MAX: Final = 64 * 1024 * 1024
"""The maximum size of a record in bytes. It is far below the limit of GCM; a larger record must be a mistake and is
refused."""

_KEY_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,32}\Z")
_WRAP_BYTES: Final = NONCE_BYTES + KEY_BYTES + TAG_BYTES


class SealingKeysUnusable(DroverError):
    """The list of sealing keys is empty or malformed. The message never contains key material."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"DROVER_SEALING_KEYS cannot be used: {problem}. It takes `id:base64` of {KEY_BYTES} random bytes, several "
            f"separated by commas, the first one seals; for example k1:$(openssl rand -base64 {KEY_BYTES})"
        )


class UnknownSealingKey(DroverError):
    """The record was sealed with a key that is not in the settings: put it back into DROVER_SEALING_KEYS."""

    def __init__(self, kid: str) -> None:
        self.kid = kid
        super().__init__(f"The sealing key {kid} is not in DROVER_SEALING_KEYS; put it back to open what it sealed")


class SealDamaged(DroverError):
    """The sealed text was changed, belongs to another record, or the key with its id is a different one."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The sealed record cannot be opened: {reason}")


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sealed record as it is stored: compact JSON, so that it fits into any text field. Bytes are base64."""

    v: int
    kid: str
    wrap: bytes
    """The nonce, then the data key, encrypted with a key of the ring."""
    nonce: bytes
    ct: bytes


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Envelope).decode


class Sealer:
    """Seals with the first key of the ring, and opens with any of its keys. It is immutable, so threads may share
    it."""

    def __init__(self, ring: dict[str, bytes]) -> None:
        """`ring`: the raw keys by id. The first one seals."""
        if not ring:
            raise SealingKeysUnusable("there is no key")
        for kid, key in ring.items():
            if not _KEY_ID.match(kid):
                raise SealingKeysUnusable("an id must be 1 to 32 letters, digits, dashes or underscores")
            if len(key) != KEY_BYTES:
                raise SealingKeysUnusable(f"the key {kid} has {len(key)} bytes, not {KEY_BYTES}")
        self._ring = {kid: AESGCM(key) for kid, key in ring.items()}
        self._current = next(iter(ring))

    @classmethod
    def from_settings(cls, keys: Sequence[str]) -> Self:
        """Make the sealer from `Settings.sealing_keys`, which have the form `id:base64`. The first key seals."""
        ring: dict[str, bytes] = {}
        for number, entry in enumerate(keys, 1):
            kid, colon, text = entry.partition(":")
            if not colon:
                raise SealingKeysUnusable(f"key number {number} has no id")
            if kid in ring:
                raise SealingKeysUnusable(f"the id {kid[:32]} is used twice")
            ring[kid] = _key_bytes(text, number)
        return cls(ring)

    def seal(self, plaintext: bytes, *, context: str, subject: str) -> str:
        """Encrypt data into a text that only `open` with the same context and subject can decrypt."""
        assert len(plaintext) <= PLAINTEXT_BYTES_MAX
        data_key, nonce = os.urandom(KEY_BYTES), os.urandom(NONCE_BYTES)
        content = AESGCM(data_key).encrypt(nonce, plaintext, _bound("content", context, subject))
        return self._text(self._wrap(data_key, context, subject), nonce, content)

    def open(self, sealed: str, *, context: str, subject: str) -> bytes:
        """Decrypt a sealed text. Raises UnknownSealingKey or SealDamaged."""
        envelope = _parse(sealed)
        data_key = self._unwrap(envelope, context, subject)
        try:
            return AESGCM(data_key).decrypt(envelope.nonce, envelope.ct, _bound("content", context, subject))
        except InvalidTag:
            raise SealDamaged("its content was changed") from None

    def rewrap(self, sealed: str, *, context: str, subject: str) -> str:
        """Encrypt the record's data key again with the first key of the ring. The content is not decrypted and stays
        the same."""
        envelope = _parse(sealed)
        data_key = self._unwrap(envelope, context, subject)
        if envelope.kid == self._current:
            return sealed
        return self._text(self._wrap(data_key, context, subject), envelope.nonce, envelope.ct)

    def _text(self, wrap: bytes, nonce: bytes, content: bytes) -> str:
        return _encode(_Envelope(VERSION, self._current, wrap, nonce, content)).decode()

    def _wrap(self, data_key: bytes, context: str, subject: str) -> bytes:
        nonce = os.urandom(NONCE_BYTES)  # random: safe for 2^32 records under one key of the ring
        bound = _bound("key", context, subject, self._current)
        return nonce + self._ring[self._current].encrypt(nonce, data_key, bound)

    def _unwrap(self, envelope: _Envelope, context: str, subject: str) -> bytes:
        key = self._ring.get(envelope.kid)
        if key is None:
            raise UnknownSealingKey(envelope.kid)
        nonce, wrapped = envelope.wrap[:NONCE_BYTES], envelope.wrap[NONCE_BYTES:]
        try:
            return key.decrypt(nonce, wrapped, _bound("key", context, subject, envelope.kid))
        except InvalidTag:
            raise SealDamaged(
                f"it was changed, it belongs to another record, or {envelope.kid} is not the key it was"
            ) from None


def _parse(sealed: str) -> _Envelope:
    try:
        envelope = _decode(sealed)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise SealDamaged("it is not a sealed text") from None
    if envelope.v != VERSION:
        raise SealDamaged(f"version {envelope.v} is not known here")
    if not _KEY_ID.match(envelope.kid):
        raise SealDamaged("its key id is malformed")
    if len(envelope.wrap) != _WRAP_BYTES or len(envelope.nonce) != NONCE_BYTES or len(envelope.ct) < TAG_BYTES:
        raise SealDamaged("a part of it is missing")
    return envelope


def _bound(part: str, *names: str) -> bytes:
    """Make the associated data that ties the ciphertext to its record, so that it cannot be opened for another one. It
    is JSON, so that no two lists of names give the same bytes."""
    return _encode((VERSION, part, *names))


def _key_bytes(text: str, number: int) -> bytes:
    padded = text.strip().rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise SealingKeysUnusable(f"key number {number} is not base64") from None
