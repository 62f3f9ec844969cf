"""Serves the keys that encrypt subjects' personal data, while this process leads the subjects' partition, and destroys
the keys of erased subjects.

The log alone says which subjects were erased: the state of the decider counts the erasures of each. If restoring a
backup brings a key back, the key is older than its subject's erasure. So it is never served, and it is destroyed again
(ADR 0045).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subject_keys import (
    TOKENS_MAX,
    KeyAnswer,
    KeyQuestion,
    RewrapAnswer,
    Rewrapped,
    RewrapQuestion,
    rewrap_subject_of,
    subject_of,
)
from drover.bus.subscription import subscribed
from drover.eventlog.subject_keys import JetStreamSubjectKeys, StoredKey, SubjectKeyStore
from drover.service.subject_sealing import KeysUnreachable, WrappedKey
from drover.service.tasks import end, in_background
from drover.writer.writer import Writer

SWEEP_S: Final = 2.0
"""How often the leader looks for erased subjects whose keys are still stored, in seconds."""
ANSWERING_MAX: Final = 64
"""How many questions are answered at the same time; further ones wait."""
WAITING_MAX: Final = 1_000
"""How many questions may wait. Further ones get no answer, and their senders ask again."""

log = structlog.get_logger("drover.writer")
_decode: Final = msgspec.json.Decoder(KeyQuestion).decode
_decode_rewrap: Final = msgspec.json.Decoder(RewrapQuestion).decode
_encode: Final = msgspec.json.Encoder().encode


class KeyServer:
    """Answers questions about keys, from the store and from the erasures that the state knows."""

    def __init__(self, store: SubjectKeyStore, partition: str, erasures: Callable[[], Mapping[str, int]]) -> None:
        self._store = store
        self._partition = partition
        self._erasures = erasures
        self._seen: dict[str, int] = {}
        """By token of the subject, how many of its erasures are certainly recorded in the log."""
        self._swept: dict[str, int] = {}

    async def answer(self, question: KeyQuestion) -> KeyAnswer:
        try:
            await self._destroy(question.destroy)
            keys = await self._fetch(question.fetch)
            keys += await self._create(question.create)
            listed, place = await self._list(question.list_after)
        except KeysUnreachable as error:
            return KeyAnswer(problem=error.reason)
        erasures = self._erasures()
        asked = (*question.fetch, *(key.token for key in question.create), *question.destroy)
        return KeyAnswer(
            keys=keys + listed, next=place, erased={token: erasures[token] for token in asked if token in erasures}
        )

    async def rewrap(self, question: RewrapQuestion) -> RewrapAnswer:
        """Store keys that were encrypted again (other wraps of them). A key whose stored wrap is not the one that the
        question names stays as it is."""
        try:
            found = await self._store.read(self._partition, [one.old.token for one in question.keys])
            stored = [await self._rewrap_one(one, found.get(one.old.token)) for one in question.keys]
        except KeysUnreachable as error:
            return RewrapAnswer(problem=error.reason)
        return RewrapAnswer(stored=sum(stored))

    async def _rewrap_one(self, one: Rewrapped, stored: StoredKey | None) -> bool:
        is_same = (one.old.token, one.old.generation) == (one.new.token, one.new.generation)
        if stored is None or not is_same or self._is_erased(stored):
            return False
        if stored.key == one.old:
            return await self._store.replace(self._partition, one.new, stored.revision)
        if (stored.key.kid, stored.key.generation) != (one.new.kid, one.new.generation):
            return False
        # An earlier rewrap has stored the new wrap, but was interrupted before it destroyed the old one.
        await self._store.prune(self._partition, one.old.token)
        return True

    def begin(self) -> None:
        """Call this at the start of a term, when all erasures in the state are recorded in the log."""
        self._seen = dict(self._erasures())

    async def sweep(self) -> None:
        """Destroy the keys of subjects whose erasure is recorded in the log, such as keys that a restored backup
        brought back.

        The state may be ahead of the log. So erasures that were not in the state at the last call are left to the next
        call.
        """
        await self._sweep()
        self._seen = dict(self._erasures())

    async def _sweep(self) -> None:
        due = [token for token, count in self._seen.items() if self._swept.get(token) != count]
        for start in range(0, len(due), TOKENS_MAX):
            some = due[start : start + TOKENS_MAX]
            for token, stored in (await self._store.read(self._partition, some)).items():
                if stored.key.generation < self._seen[token]:
                    await self._destroy_one(token)
            self._swept |= {token: self._seen[token] for token in some}

    async def _fetch(self, tokens: Sequence[str]) -> list[WrappedKey]:
        found = await self._read(tokens) if tokens else {}
        return [stored.key for stored in found.values() if not self._is_erased(stored)]

    async def _read(self, tokens: Sequence[str]) -> dict[str, StoredKey]:
        """Read keys. Destroy and leave out those whose subject's erasure is recorded: keys from a backup that was just
        restored, or keys that were stored after the sweep. If they stayed, their subjects could never get a new key."""
        found = await self._store.read(self._partition, tokens)
        for token, stored in list(found.items()):
            if stored.key.generation < self._seen.get(token, 0):
                await self._destroy_one(token)
                del found[token]
        return found

    async def _create(self, keys: Sequence[WrappedKey]) -> list[WrappedKey]:
        if not keys:
            return []
        found = await self._read([key.token for key in keys])
        if any(map(self._is_erased, found.values())):
            raise KeysUnreachable("a subject is being erased")
        erasures = self._erasures()
        new = [key for key in keys if key.token not in found and key.generation == erasures.get(key.token, 0)]
        stored = await asyncio.gather(*(self._store.create(self._partition, key) for key in new))
        lost = [key.token for key, created in zip(new, stored, strict=True) if not created]
        if lost:  # another request has created the key meanwhile
            found |= await self._store.read(self._partition, lost)
        made = [key for key, created in zip(new, stored, strict=True) if created]
        return [*(one.key for one in found.values()), *made]

    async def _list(self, after: int | None) -> tuple[list[WrappedKey], int | None]:
        if after is None:
            return [], None
        stored = await self._store.page(self._partition, after, TOKENS_MAX)
        keys = [one.key for one in stored if not self._is_erased(one)]
        return keys, stored[-1].revision if len(stored) == TOKENS_MAX else None

    async def _destroy(self, tokens: Sequence[str]) -> None:
        found = await self._store.read(self._partition, tokens) if tokens else {}
        for token, stored in found.items():
            if self._is_erased(stored):
                await self._destroy_one(token)

    async def _destroy_one(self, token: str) -> None:
        await self._store.destroy(self._partition, token)
        log.info("key_destroyed", partition=self._partition, token=token)

    def _is_erased(self, stored: StoredKey) -> bool:
        return stored.key.generation < self._erasures().get(stored.key.token, 0)


@asynccontextmanager
async def serving_keys(client: Client, writer: Writer[Any]) -> AsyncIterator[None]:
    """Serve the keys of the writer's partition while the block runs; the block lasts for one term. Does nothing for a
    context without personal data."""
    erasures = writer.decider.erasures
    if erasures is None:
        yield
        return

    def known() -> Mapping[str, int]:
        state = writer.state
        if state is None:
            raise KeysUnreachable("this process no longer leads")
        return erasures(state)

    partition = writer.partition
    server = KeyServer(JetStreamSubjectKeys(client, partition.context), partition.name, known)
    server.begin()
    places = asyncio.Semaphore(ANSWERING_MAX)
    answering: set[asyncio.Task[None]] = set()

    rewraps = rewrap_subject_of(partition.context, partition.name)

    async def answered(message: Msg) -> KeyAnswer | RewrapAnswer:
        if message.subject == rewraps:
            return await server.rewrap(_decode_rewrap(message.data))
        return await server.answer(_decode(message.data))

    async def answer(message: Msg) -> None:
        async with places:
            try:
                body = _encode(await answered(message))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                log.error("question_unreadable", subject=message.subject, error=str(error))
                return
            with suppress(NatsError, OSError):
                await message.respond(body)

    async def on_message(message: Msg) -> None:
        if len(answering) < WAITING_MAX:
            task = asyncio.create_task(answer(message), name=message.subject)
            answering.add(task)
            task.add_done_callback(answering.discard)

    try:
        async with (
            subscribed(client, subject_of(partition.context, partition.name), on_message),
            subscribed(client, rewraps, on_message),
            in_background(_sweeping(server, writer)),
        ):
            yield
    finally:
        await end(*answering)


async def _sweeping(server: KeyServer, writer: Writer[Any]) -> None:
    while True:
        # While a commit is not acknowledged, erasures in the state may not be recorded yet, so do not sweep.
        if writer.refusal() is None:
            try:
                await server.sweep()
            except KeysUnreachable as error:
                log.warning("keys_not_swept", partition=str(writer.partition.name), error=str(error))
        await asyncio.sleep(SWEEP_S)
