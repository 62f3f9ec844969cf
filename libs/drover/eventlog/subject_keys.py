"""Stores the keys with which the personal data of subjects (such as people) is encrypted. Each context with personal
data has a stream, with one message for each subject.

Only wrapped (encrypted) keys are stored. A destroyed key is overwritten on disk. `writer.key_server` decides who gets a
key, and when it is destroyed.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec
import nats.js.api as api
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NotFoundError

from drover.eventlog.bucket import NO_MESSAGE_FOUND, WRONG_LAST_SEQUENCE
from drover.eventlog.streams import StreamMisconfigured, refuse_too_few
from drover.service.reasons import reason_of
from drover.service.subject_sealing import KeysUnreachable, WrappedKey

REQUEST_S: Final = 5.0
BATCH_MAX: Final = 500
"""How many keys one request reads. The server answers for at most 1,024 subjects at once."""
DELETED_ALREADY: Final = 10043

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(WrappedKey).decode


class StoredKey(msgspec.Struct, frozen=True):
    key: WrappedKey
    revision: int
    """Changes with every write of the key."""


class SubjectKeyStore(Protocol):
    """The keys of the subjects of one context. A subject is named by its token. All methods raise KeysUnreachable if
    NATS does not answer."""

    async def read(self, partition: str, tokens: Sequence[str]) -> dict[str, StoredKey]:
        """Return those of the keys that exist, by token."""

    async def create(self, partition: str, key: WrappedKey) -> bool:
        """Store a key. False if the subject has one already."""

    async def replace(self, partition: str, key: WrappedKey, revision: int) -> bool:
        """Store a key that was encrypted again (another wrap of it), and destroy its earlier wraps. Returns False if
        the revision has changed, so that nothing was stored."""

    async def prune(self, partition: str, token: str) -> None:
        """Destroy all wraps of a key except the last one. A process that died in `replace` may have left some."""

    async def destroy(self, partition: str, token: str) -> bool:
        """Destroy the key of a subject, with all its wraps. Returns False if there is none. After this returns, the key
        can be read neither here nor in the files of the server."""

    async def page(self, partition: str, after: int, limit: int) -> list[StoredKey]:
        """Return up to `limit` keys of a partition whose revision is above `after`, the lowest first."""


def stream_of(context: str) -> str:
    """Return the name of the stream with the keys of a context."""
    return f"KEYS_{context.upper()}"


def subjects_of(context: str) -> str:
    return f"key.{context}.*.*"


def _required(context: str) -> dict[str, Any]:
    """The options without which keys could be lost, or could not be destroyed."""
    return {
        "subjects": [subjects_of(context)],
        "storage": api.StorageType.FILE,
        "retention": api.RetentionPolicy.LIMITS,
        "discard": api.DiscardPolicy.NEW,
        "max_age": 0,
        "max_msgs": -1,
        # No limit, because the server would remove the oldest message of a subject without overwriting it on disk.
        "max_msgs_per_subject": -1,
        "deny_delete": False,
        "allow_rollup_hdrs": False,
        "allow_msg_ttl": False,
        "allow_direct": True,
    }


async def ensure_key_stream(client: Client, context: str, *, replicas: int = 1) -> None:
    """Create the stream of a context's keys if it is missing. Raises StreamMisconfigured or TooFewReplicas."""
    name, required = stream_of(context), _required(context)
    jetstream = client.jetstream()
    try:
        config = (await jetstream.stream_info(name)).config
    except NotFoundError:
        config = (await jetstream.add_stream(api.StreamConfig(name=name, num_replicas=replicas, **required))).config
    wrong = {
        option: (found, must)
        for option, must in required.items()
        if (found := getattr(config, option)) != must and not (must is False and found is None)
    }
    if wrong:
        raise StreamMisconfigured(name, wrong)
    refuse_too_few(config, replicas)


class JetStreamSubjectKeys:
    def __init__(self, client: Client, context: str) -> None:
        self._client = client
        self._context = context
        self._stream = stream_of(context)

    async def read(self, partition: str, tokens: Sequence[str]) -> dict[str, StoredKey]:
        found: dict[str, StoredKey] = {}
        if len(tokens) > 1:
            for start in range(0, len(tokens), BATCH_MAX):
                found |= await self._read_batch([self._subject(partition, one) for one in tokens[start:][:BATCH_MAX]])
        # A batch may be answered by a replica that is behind, so ask the leader for what is missing.
        for token in tokens:
            if token not in found and (stored := await self._last(partition, token)) is not None:
                found[token] = stored
        return found

    async def create(self, partition: str, key: WrappedKey) -> bool:
        return await self._publish(partition, key, 0)

    async def replace(self, partition: str, key: WrappedKey, revision: int) -> bool:
        if not await self._publish(partition, key, revision):
            return False
        await self.prune(partition, key.token)
        return True

    async def prune(self, partition: str, token: str) -> None:
        await self._destroy(partition, token, keep=1)

    async def destroy(self, partition: str, token: str) -> bool:
        found = False
        # Look again until there is none: a new wrap may be stored while the others are overwritten. With none left,
        # `replace` fails, because the revision that it expects is gone.
        while await self._destroy(partition, token, keep=0):
            found = True
        return found

    async def page(self, partition: str, after: int, limit: int) -> list[StoredKey]:
        found: list[StoredKey] = []
        while len(found) < limit:
            message = await self._get({"next_by_subj": self._subject(partition, "*"), "seq": after + 1})
            if message is None:
                break
            found.append(_stored(message))
            after = message["seq"]
        return found

    async def _read_batch(self, subjects: list[str]) -> dict[str, StoredKey]:
        found: dict[str, StoredKey] = {}
        ended = asyncio.Event()

        async def on_message(message: Msg) -> None:
            headers = message.headers or {}
            if "Status" in headers:  # the end of the answers, or none of the keys exists
                ended.set()
                return
            key = _decode(message.data)
            found[key.token] = StoredKey(key, int(headers["Nats-Sequence"]))

        inbox = self._client.new_inbox()
        try:
            subscription = await self._client.subscribe(inbox, cb=on_message)
            try:
                request = msgspec.json.encode({"multi_last": subjects})
                await self._client.publish(f"$JS.API.DIRECT.GET.{self._stream}", request, reply=inbox)
                async with asyncio.timeout(REQUEST_S):
                    await ended.wait()
            finally:
                await subscription.unsubscribe()
        except (NatsError, OSError, TimeoutError) as error:
            raise KeysUnreachable(reason_of(error)) from error
        return found

    async def _publish(self, partition: str, key: WrappedKey, revision: int) -> bool:
        expected = {"Nats-Expected-Last-Subject-Sequence": str(revision)}
        subject = self._subject(partition, key.token)
        try:
            await self._client.jetstream(timeout=REQUEST_S).publish(
                subject, _encode(key), stream=self._stream, headers=expected
            )
        except APIError as error:
            if error.err_code != WRONG_LAST_SEQUENCE:
                raise KeysUnreachable(reason_of(error)) from error
            return False
        except (NatsError, OSError) as error:
            raise KeysUnreachable(reason_of(error)) from error
        return True

    async def _destroy(self, partition: str, token: str, *, keep: int) -> bool:
        """Overwrite all messages of a subject except the last `keep`."""
        sequences: list[int] = []
        seq = 0
        while message := await self._get({"next_by_subj": self._subject(partition, token), "seq": seq + 1}):
            seq = message["seq"]
            sequences.append(seq)
        for one in sequences[: len(sequences) - keep]:
            await self._erase(one)
        return bool(sequences)

    async def _erase(self, seq: int) -> None:
        answer = await self._request(f"$JS.API.STREAM.MSG.DELETE.{self._stream}", {"seq": seq, "no_erase": False})
        error = answer.get("error")
        if error and error["err_code"] not in (DELETED_ALREADY, NO_MESSAGE_FOUND):
            raise KeysUnreachable(error["description"])

    async def _last(self, partition: str, token: str) -> StoredKey | None:
        message = await self._get({"last_by_subj": self._subject(partition, token)})
        return None if message is None else _stored(message)

    async def _get(self, question: dict[str, Any]) -> dict[str, Any] | None:
        answer = await self._request(f"$JS.API.STREAM.MSG.GET.{self._stream}", question)
        error = answer.get("error")
        if error is None:
            message: dict[str, Any] = answer["message"]
            return message
        if error["err_code"] != NO_MESSAGE_FOUND:
            raise KeysUnreachable(error["description"])
        return None

    async def _request(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reply = await self._client.request(subject, msgspec.json.encode(body), timeout=REQUEST_S)
        except (NatsError, OSError) as error:
            raise KeysUnreachable(reason_of(error)) from error
        answer: dict[str, Any] = msgspec.json.decode(reply.data)
        return answer

    def _subject(self, partition: str, token: str) -> str:
        return f"key.{self._context}.{partition}.{token}"


def _stored(message: dict[str, Any]) -> StoredKey:
    return StoredKey(_decode(base64.b64decode(message["data"])), message["seq"])


class MemorySubjectKeys:
    """Keeps keys in memory, for tests."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], StoredKey] = {}
        self._revision = 0

    async def read(self, partition: str, tokens: Sequence[str]) -> dict[str, StoredKey]:
        return {token: self.kept[partition, token] for token in tokens if (partition, token) in self.kept}

    async def create(self, partition: str, key: WrappedKey) -> bool:
        return (partition, key.token) not in self.kept and self._put(partition, key)

    async def replace(self, partition: str, key: WrappedKey, revision: int) -> bool:
        stored = self.kept.get((partition, key.token))
        return stored is not None and stored.revision == revision and self._put(partition, key)

    async def prune(self, partition: str, token: str) -> None:
        pass

    async def destroy(self, partition: str, token: str) -> bool:
        return self.kept.pop((partition, token), None) is not None

    async def page(self, partition: str, after: int, limit: int) -> list[StoredKey]:
        found = [stored for (where, _), stored in self.kept.items() if where == partition and stored.revision > after]
        return sorted(found, key=lambda stored: stored.revision)[:limit]

    def _put(self, partition: str, key: WrappedKey) -> bool:
        self._revision += 1
        self.kept[partition, key.token] = StoredKey(key, self._revision)
        return True
