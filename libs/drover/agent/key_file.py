"""Stores the keys of enrolled phones in one file that only its owner may read, and the nonce of an enrolment."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from drover.agent.enrolment import Enrolled
from drover.domain.errors import DroverError
from drover.service.private_file import write_private

NONCE_BYTES: Final = 24
CODES_REMEMBERED_MAX: Final = 100


class KeysUnreadable(DroverError):
    """The file with the keys is damaged."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read ({reason}). Restore it, or remove it and enrol the phones again.")
        self.path = path
        self.reason = reason


class _Content(msgspec.Struct):
    """What one platform gave out."""

    phones: dict[str, Enrolled] = {}
    nonces: dict[str, str] = {}
    """For the last code, by its hash: the nonce that was sent with it. The code itself is not stored."""
    used: list[str] = []
    """The hashes of codes that have given out keys, the latest last."""


class _File(msgspec.Struct):
    platforms: dict[str, _Content]
    """By address. Keys of one platform say nothing to another, but they are kept: an address may have been mistyped."""


class KeyFile:
    """The keys of one agent for one platform."""

    def __init__(self, path: Path, url: str) -> None:
        self._path = path
        self._file = _read(path)
        self._content = self._file.platforms.setdefault(url.rstrip("/"), _Content())

    def key_of(self, serial_number: str) -> Enrolled | None:
        return self._content.phones.get(serial_number)

    def has_used(self, code: str) -> bool:
        """Whether this code has given out keys, so that it need not be sent again."""
        return _hash(code) in self._content.used

    def nonce_of(self, code: str) -> str:
        """Return the nonce to send with this code. It is stored before it is returned, so that the agent can ask again
        for an answer that was lost, even after a crash."""
        name = _hash(code)
        if name not in self._content.nonces:
            self._content.nonces = {name: secrets.token_urlsafe(NONCE_BYTES)}
            self._write()
        return self._content.nonces[name]

    def add(self, code: str, phones: Iterable[Enrolled]) -> None:
        """Store the keys that this code has given out."""
        self._content.phones.update({phone.serial_number: phone for phone in phones})
        self._content.nonces.pop(_hash(code), None)
        self._content.used = [*self._content.used, _hash(code)][-CODES_REMEMBERED_MAX:]
        self._write()

    def _write(self) -> None:
        write_private(self._path, msgspec.json.encode(self._file))


def _hash(code: str) -> str:
    return sha256(code.strip().encode()).hexdigest()


def _read(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        return _File({})
    except (OSError, msgspec.DecodeError) as error:
        raise KeysUnreadable(path, str(error)) from error
