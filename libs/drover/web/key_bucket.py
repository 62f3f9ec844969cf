"""The NATS bucket with what processes need to verify API keys: public keys, revoked keys, adopted keys. Nothing in it
is secret.

The leader of `api` writes it (`drover.api.identity.key_publisher`), every process that verifies keys reads it
(`drover.web.key_book`). Revoked and adopted keys are divided among a fixed number of entries, so that a process that
starts reads a few dozen messages, however many keys there are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec
from nats.aio.client import Client

from drover.domain.errors import DroverError
from drover.eventlog.bucket import NO_MESSAGE_FOUND, WRONG_LAST_SEQUENCE
from drover.service.identity_keys import IdentityKeys, KeyPair

BUCKET: Final = "drover_keys"
SIGNING: Final = "signing"
"""The name of the entry with the public keys."""
SHARDS: Final = tuple(f"keys.{number:02}" for number in range(32))
"""The names of the entries with the revoked and adopted keys."""
REQUEST_S: Final = 2.0
NO_SUCH_STREAM: Final = 10059

_STREAM: Final = f"KV_{BUCKET}"
_PREFIX: Final = f"$KV.{BUCKET}."
ALL_ENTRIES: Final = f"{_PREFIX}>"

Use = Literal["api", "people"]


class PublicKey(msgspec.Struct, frozen=True):
    """A public key on the curve P-256, whose tokens are signed with ES256."""

    kid: str
    use: Use
    """Whether the key signs API keys or people's tokens. It verifies nothing else."""
    x: str
    y: str

    @classmethod
    def of(cls, pair: KeyPair, use: Use) -> PublicKey:
        return cls(pair.kid, use, pair.jwk["x"], pair.jwk["y"])


def public_keys_of(keys: IdentityKeys) -> list[PublicKey]:
    """Return all public keys that verify what these keys sign."""
    return [*(PublicKey.of(pair, "api") for pair in keys.api), *(PublicKey.of(pair, "people") for pair in keys.access)]


class Signing(msgspec.Struct, frozen=True):
    keys: tuple[PublicKey, ...] = ()


class Adopted(msgspec.Struct, frozen=True, array_like=True):
    """An adopted key: one without an id that was recorded later (`drover key adopt`), and is accepted because its
    digest is listed."""

    digest: str
    role: str
    expires_at: float
    """Unix time."""
    device_id: str | None = None
    key_id: str = ""
    """The id under which the key is listed."""


class Shard(msgspec.Struct, frozen=True):
    revoked: tuple[str, ...] = ()
    """The revoked keys: ids, or digests of keys that were adopted."""
    adopted: tuple[Adopted, ...] = ()


def shard_of(name: str) -> str:
    """Return the name of the entry that holds a key, given its id or digest."""
    return SHARDS[sha256(name.encode()).digest()[0] % len(SHARDS)]


def encode_shards(revoked: Iterable[str], adopted: Iterable[Adopted]) -> dict[str, bytes]:
    """Encode all entries of revoked and adopted keys, by name of the entry. The same keys always give the same
    bytes."""
    names: dict[str, list[str]] = {shard: [] for shard in SHARDS}
    keys: dict[str, list[Adopted]] = {shard: [] for shard in SHARDS}
    for name in revoked:
        names[shard_of(name)].append(name)
    for key in adopted:
        keys[shard_of(key.digest)].append(key)
    return {
        shard: msgspec.json.encode(
            Shard(tuple(sorted(names[shard])), tuple(sorted(keys[shard], key=lambda key: key.digest)))
        )
        for shard in SHARDS
    }


def encode_signing(keys: Sequence[PublicKey]) -> bytes:
    return msgspec.json.encode(Signing(tuple(keys)))


decode_shard: Final = msgspec.json.Decoder(Shard).decode
decode_signing: Final = msgspec.json.Decoder(Signing).decode


class BucketMissing(DroverError):
    """There is no bucket of keys yet."""


class BucketTrouble(DroverError):
    """The bucket of keys did not answer as expected."""


class EntryTaken(DroverError):
    """Another process has written the entry in the meantime."""


class Entry(msgspec.Struct, frozen=True):
    revision: int
    data: bytes


class KeyBucket:
    """A copy of the bucket in this process. `refresh` reads what is new."""

    def __init__(self, client: Client) -> None:
        self.entries: dict[str, Entry] = {}
        self._client = client
        self._seq = 0
        self._created = ""
        self._unreported: list[str] = []

    async def refresh(self) -> list[str]:
        """Read the entries that were written since the last successful call, and return their names.

        Raises BucketMissing, BucketTrouble, or an error of NATS. Entries that were read before the error are in
        `entries` already, and the next successful call returns their names, too. So no name is lost.
        """
        info = await self._request(f"$JS.API.STREAM.INFO.{_STREAM}", b"")
        last = int(info["state"]["last_seq"])
        # The bucket was deleted and made again, or this is the first call: read everything.
        if info["created"] != self._created or last < self._seq:
            self.entries, self._seq, self._created = {}, 0, info["created"]
            self._unreported = []
        while self._seq < last:
            message = await self._next()
            if message is None:
                self._seq = last
                break
            self._seq = int(message["seq"])
            name = str(message["subject"]).removeprefix(_PREFIX)
            self.entries[name] = Entry(self._seq, base64.b64decode(message.get("data", "")))
            self._unreported.append(name)
        changed, self._unreported = self._unreported, []
        return changed

    async def put(self, name: str, data: bytes) -> None:
        """Write an entry if nobody else has written it since it was read. Raises EntryTaken if somebody has."""
        known = self.entries.get(name)
        headers = {"Nats-Expected-Last-Subject-Sequence": str(known.revision if known else 0)}
        answer = await self._request(f"{_PREFIX}{name}", data, headers)
        self.entries[name] = Entry(int(answer["seq"]), data)

    async def _next(self) -> dict[str, Any] | None:
        """Return the next message, read from the leader of the stream, because a replica may lag."""
        asked = msgspec.json.encode({"seq": self._seq + 1, "next_by_subj": ALL_ENTRIES})
        try:
            answer = await self._request(f"$JS.API.STREAM.MSG.GET.{_STREAM}", asked)
        except _NothingThere:
            return None
        message: dict[str, Any] = answer["message"]
        return message

    async def _request(self, subject: str, body: bytes, headers: dict[str, str] | None = None) -> dict[str, Any]:
        reply = await self._client.request(subject, body, timeout=REQUEST_S, headers=headers)
        answer = msgspec.json.decode(reply.data, type=dict[str, Any])
        if (error := answer.get("error")) is not None:
            kind = _ERRORS.get(error.get("err_code"), BucketTrouble)
            raise kind(str(error.get("description")))
        return answer


class _NothingThere(DroverError):
    """There is no message at or after the sequence."""


_ERRORS: Final[dict[int, type[DroverError]]] = {
    NO_SUCH_STREAM: BucketMissing,
    NO_MESSAGE_FOUND: _NothingThere,
    WRONG_LAST_SEQUENCE: EntryTaken,
}
