"""Subjects of personal data: how a sealed text names the key of its subject, and which subjects were erased (ADR 0045).

A subject is a person or a thing that personal data is about, such as a user of reminders or a render. Its key lives
outside the log; destroying the key erases the data. This module has no keys and does no encryption.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import msgspec

TOKEN_BYTES: Final = 16
TOKEN_FORM: Final = r"^[A-Za-z0-9_-]{22}\Z"  # noqa: S105 - no secret
PREFIX: Final = "sealed:2:"
"""How every text begins that is sealed with the key of a subject. Texts of earlier releases are plain, or have their
key inside."""

_FORM: Final = re.compile(rf"{PREFIX}([a-z0-9]{{1,16}})\.([A-Za-z0-9_-]{{22}})\.(\d{{1,9}}):([A-Za-z0-9_-]+)\Z")

Erasures = dict[str, int]
"""By token of a subject, how often the subject was erased."""


class KeyRef(msgspec.Struct, frozen=True):
    """Names the key that a text is sealed with."""

    partition: str
    """The partition that holds the subject's data. The writer that leads this partition hands out the key."""
    token: str
    generation: int = 0
    """How often the subject had been erased before the key was made. Keys of earlier generations are destroyed."""


class SealedText(msgspec.Struct, frozen=True):
    ref: KeyRef
    payload: str
    """The ciphertext in URL-safe base64."""

    def __str__(self) -> str:
        return f"{PREFIX}{self.ref.partition}.{self.ref.token}.{self.ref.generation}:{self.payload}"


def token_of(context: str, subject: str) -> str:
    """Return the name of a subject's key. It is a hash, because an id may contain characters that NATS does not allow
    in a subject."""
    digest = blake2b(f"{context}\0{subject}".encode(), digest_size=TOKEN_BYTES).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


def parse_sealed(text: str) -> SealedText | None:
    """Read a text that is sealed with the key of a subject. None if it is not such a text."""
    if not text.startswith(PREFIX) or (found := _FORM.match(text)) is None:
        return None
    partition, token, generation, payload = found.groups()
    if len(payload) % 4 == 1:  # no base64 has this length
        return None
    return SealedText(KeyRef(partition, token, int(generation)), payload)


def note_erased(erased: Erasures, context: str, subject: str) -> None:
    """Remember an erasure in the state of a decider."""
    token = token_of(context, subject)
    erased[token] = erased.get(token, 0) + 1


def is_erased(erased: Mapping[str, int], ref: KeyRef) -> bool:
    """Whether the subject was erased after this key was made."""
    return ref.generation < erased.get(ref.token, 0)


def names_erased_key(erased: Mapping[str, int], *texts: str | None) -> bool:
    """Whether one of these texts is sealed with a key that was destroyed. Nobody could read it, so a command with such
    a text must be refused."""
    sealed = (parse_sealed(text) for text in texts if text)
    return any(one is not None and is_erased(erased, one.ref) for one in sealed)
