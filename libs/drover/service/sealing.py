"""Encrypts data that must not be readable in the log, with AES-256-GCM, and holds the keys from the settings (the
ring).

`Sealer` encrypts each record with a data key of its own, and the data key with the ring. The encrypted data key is part
of the record. So a record cannot be erased by destroying its key, because the log keeps both. Personal data must be
erasable: `subject_sealing` encrypts it.
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
    """The sealed text cannot be opened: it was changed, or it belongs to another record, or the key in the settings is
    not the one that sealed it although it has the same id."""

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


class Ring:
    """The sealing keys of a context. Encrypts (wraps) other keys with its first key, and decrypts with any. It is
    immutable, so threads may share it."""

    def __init__(self, keys: dict[str, bytes]) -> None:
        """`keys`: the raw keys by id. The first one wraps."""
        if not keys:
            raise SealingKeysUnusable("there is no key")
        for kid, key in keys.items():
            if not _KEY_ID.match(kid):
                raise SealingKeysUnusable("an id must be 1 to 32 letters, digits, dashes or underscores")
            if len(key) != KEY_BYTES:
                raise SealingKeysUnusable(f"the key {kid} has {len(key)} bytes, not {KEY_BYTES}")
        self._keys = {kid: AESGCM(key) for kid, key in keys.items()}
        self.current = next(iter(keys))
        """The id of the key that wraps."""

    @classmethod
    def from_settings(cls, keys: Sequence[str]) -> Self:
        """Make the ring from a setting such as `Settings.sealing_keys`, whose entries have the form `id:base64`."""
        ring: dict[str, bytes] = {}
        for number, entry in enumerate(keys, 1):
            kid, colon, text = entry.partition(":")
            if not colon:
                raise SealingKeysUnusable(f"key number {number} has no id")
            if kid in ring:
                raise SealingKeysUnusable(f"the id {kid[:32]} is used twice")
            ring[kid] = _key_bytes(text, number)
        return cls(ring)

    def wrap(self, data_key: bytes, *names: str) -> bytes:
        """Encrypt a key with the ring's first key, whose id is `current`. `unwrap` needs this id and the same `names`
        to decrypt it."""
        nonce = os.urandom(NONCE_BYTES)  # random nonces are safe for up to 2^32 records under one key of the ring
        return nonce + self._keys[self.current].encrypt(nonce, data_key, bound("key", *names, self.current))

    def unwrap(self, kid: str, wrapped: bytes, *names: str) -> bytes:
        """Decrypt a key. Raises UnknownSealingKey or SealDamaged."""
        key = self._keys.get(kid)
        if key is None:
            raise UnknownSealingKey(kid)
        try:
            return key.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], bound("key", *names, kid))
        except InvalidTag:
            raise SealDamaged(f"it was changed, it belongs to another record, or {kid} is not the key it was") from None


class Sealer:
    """Seals with the first key of the ring, and opens with any of its keys. It is immutable, so threads may share
    it."""

    def __init__(self, ring: dict[str, bytes] | Ring) -> None:
        """`ring`: the ring, or its raw keys by id. The first one seals."""
        self.ring = ring if isinstance(ring, Ring) else Ring(ring)

    @classmethod
    def from_settings(cls, keys: Sequence[str]) -> Self:
        return cls(Ring.from_settings(keys))

    def seal(self, plaintext: bytes, *, context: str, subject: str) -> str:
        """Encrypt data into a text that only `open` with the same context and subject can decrypt."""
        assert len(plaintext) <= PLAINTEXT_BYTES_MAX
        data_key, nonce = os.urandom(KEY_BYTES), os.urandom(NONCE_BYTES)
        content = AESGCM(data_key).encrypt(nonce, plaintext, bound("content", context, subject))
        return self._text(self.ring.wrap(data_key, context, subject), nonce, content)

    def open(self, sealed: str, *, context: str, subject: str) -> bytes:
        """Decrypt a sealed text. Raises UnknownSealingKey or SealDamaged."""
        envelope = _parse(sealed)
        data_key = self.ring.unwrap(envelope.kid, envelope.wrap, context, subject)
        try:
            return AESGCM(data_key).decrypt(envelope.nonce, envelope.ct, bound("content", context, subject))
        except InvalidTag:
            raise SealDamaged("its content was changed") from None

    def rewrap(self, sealed: str, *, context: str, subject: str) -> str:
        """Encrypt the record's data key again with the first key of the ring. The content is not decrypted and stays
        the same."""
        envelope = _parse(sealed)
        data_key = self.ring.unwrap(envelope.kid, envelope.wrap, context, subject)
        if envelope.kid == self.ring.current:
            return sealed
        return self._text(self.ring.wrap(data_key, context, subject), envelope.nonce, envelope.ct)

    def _text(self, wrap: bytes, nonce: bytes, content: bytes) -> str:
        return _encode(_Envelope(VERSION, self.ring.current, wrap, nonce, content)).decode()


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


def bound(part: str, *names: str) -> bytes:
    """Make the associated data of a ciphertext. It names the record, so that the ciphertext cannot be opened as that of
    another record. It is JSON, so that no two lists of names give the same bytes."""
    return _encode((VERSION, part, *names))


def _key_bytes(text: str, number: int) -> bytes:
    padded = text.strip().rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise SealingKeysUnusable(f"key number {number} is not base64") from None
