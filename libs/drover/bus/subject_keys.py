"""Gets the keys that encrypt subjects' personal data from the leaders of the subjects' partitions, many with one
request.

A process keeps a key for a few seconds only. So an erasure takes effect in every process within that time, even if the
process is not told about it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.domain.backoff import Backoff
from drover.domain.erasure import KeyRef, parse_sealed, token_of
from drover.domain.errors import DroverError
from drover.domain.partitions import partition_of
from drover.service.reasons import reason_of
from drover.service.sealing import Ring, SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import (
    Erased,
    KeysUnreachable,
    SubjectKey,
    Token,
    WrappedKey,
    make_key,
    parse_or_raise,
    unwrap,
)

A = TypeVar("A", "KeyAnswer", "RewrapAnswer")
K = TypeVar("K")
V = TypeVar("V")

KEPT_S: Final = 5.0
"""How many seconds a process uses a key before it asks for it again."""
KEPT_MAX: Final = 20_000
TOKENS_MAX: Final = 1_000
"""How many keys one request asks for at most. So the answer fits into one message."""
SEALING_S: Final = 20.0
"""How many seconds a write waits for keys. Like that of a command, this time is longer than the election of a leader
takes."""
OPENING_S: Final = 5.0
"""How long a read waits for keys."""
TRY_S: Final = 2.0
RETRY: Final = Backoff(first_s=0.1, max_s=1.0, jitter=0.5)
GENERATION_TRIES_MAX: Final = 3
"""How many times making a new key for a subject is tried. A try fails if the key's generation is not the number of
times that the subject was erased."""


class KeyQuestion(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What a process asks the leader of a partition."""

    fetch: list[Token] = []
    create: list[WrappedKey] = []
    """New keys for subjects that may have none yet. If a subject has a key already, the answer contains that one
    instead."""
    destroy: list[Token] = []
    """Subjects that were erased. The leader answers after their keys are destroyed."""
    list_after: int | None = None
    """List the keys after this place in the store, for a backup. 0: from the first one. None: list no keys."""


class KeyAnswer(msgspec.Struct, omit_defaults=True):
    keys: list[WrappedKey] = []
    erased: dict[str, int] = {}
    """By token, how many times a subject was erased. Subjects that were never erased, and those that the question does
    not name, are left out."""
    next: int | None = None
    """After a list: the place to go on from. None: this was the last part."""
    problem: str | None = None
    """Why the leader cannot answer now. Ask again."""


class Rewrapped(msgspec.Struct, frozen=True):
    """A stored key, and the same key encrypted with another key of the ring."""

    old: WrappedKey
    new: WrappedKey


class RewrapQuestion(msgspec.Struct, forbid_unknown_fields=True):
    """Asks the leader of a partition to store keys that were encrypted again (other wraps of them). The leader has no
    sealing keys and cannot check them, so only operators may ask."""

    keys: list[Rewrapped]


class RewrapAnswer(msgspec.Struct, omit_defaults=True):
    stored: int = 0
    """How many of the new wraps were stored. The others were not, because their key was erased or changed meanwhile."""
    problem: str | None = None
    """Why the leader cannot answer now. Ask again."""


Ask = Callable[[str, KeyQuestion, float], Awaitable[KeyAnswer]]
"""Called with (partition, question, seconds to wait at most). Raises KeysUnreachable."""

_decode: Final = msgspec.json.Decoder(KeyAnswer).decode
_decode_rewrap: Final = msgspec.json.Decoder(RewrapAnswer).decode


def rewrap_subject_of(context: str, partition: str) -> str:
    return f"rewrap.{context}.{partition}"


def subject_of(context: str, partition: str) -> str:
    return f"keys.{context}.{partition}"


def asking(client: Client, context: str) -> Ask:
    """Make the function that asks over NATS, and retries until the time is over."""

    async def ask(partition: str, question: KeyQuestion, patience_s: float) -> KeyAnswer:
        return await _asked(client, subject_of(context, partition), question, _decode, patience_s)

    return ask


async def store_rewrapped(client: Client, context: str, partition: str, keys: list[Rewrapped]) -> int:
    """Ask the leader to store keys that were encrypted again. Return how many it has stored. Raises KeysUnreachable."""
    subject = rewrap_subject_of(context, partition)
    answer = await _asked(client, subject, RewrapQuestion(keys), _decode_rewrap, SEALING_S)
    return answer.stored


async def _asked(
    client: Client, subject: str, question: msgspec.Struct, decode: Callable[[bytes], A], patience_s: float
) -> A:
    body = msgspec.json.encode(question)
    loop = asyncio.get_running_loop()
    give_up_at, tries = loop.time() + patience_s, 0
    while True:
        tries += 1
        try:
            reply = await client.request(subject, body, timeout=TRY_S)
            answer = decode(reply.data)
            problem = answer.problem
        except (NatsError, OSError) as error:
            problem = reason_of(error)
        if problem is None:
            return answer
        pause_s = RETRY.pause_s(tries, random.random())  # noqa: S311 - jitter
        if loop.time() + pause_s > give_up_at:
            raise KeysUnreachable(problem)
        await asyncio.sleep(pause_s)


class Opener:
    """Decrypts texts whose keys were fetched before. Threads may use it."""

    def __init__(self, keys: Mapping[KeyRef, SubjectKey | DroverError]) -> None:
        self._keys = keys

    def open(self, text: str, *, purpose: str) -> bytes:
        """Decrypt a text. Raises Erased, SealDamaged or UnknownSealingKey."""
        sealed = parse_or_raise(text)
        key = self._keys[sealed.ref]
        if isinstance(key, DroverError):
            raise key
        return key.open(sealed, purpose=purpose)


class SubjectKeys:
    """The keys of one context's subjects, for a process that seals or opens personal data."""

    def __init__(
        self,
        context: str,
        ring: Ring,
        ask: Ask,
        *,
        partitions: Sequence[str] = ("main",),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.context = context
        self.ring = ring
        self._ask = ask
        self._partitions = partitions
        self._clock = clock
        self._kept: dict[KeyRef, tuple[SubjectKey | DroverError, float]] = {}
        """Fetched keys, or the errors why they cannot be used, each with the time until which it may be used without
        asking again."""
        self._current: dict[str, tuple[SubjectKey, float]] = {}
        """By token, the key that new data is sealed with."""

    async def for_sealing(self, subjects: Iterable[str]) -> dict[str, SubjectKey]:
        """Return the key of each subject, by subject. If a subject has none, make one; it is stored before this
        returns."""
        tokens = {token_of(self.context, subject): subject for subject in subjects}
        now = self._clock()
        found = {token: kept[0] for token in tokens if (kept := self._current.get(token)) is not None and kept[1] > now}
        missing: dict[str, list[str]] = defaultdict(list)
        for token in tokens.keys() - found.keys():
            missing[partition_of(tokens[token], self._partitions)].append(token)
        for made in await asyncio.gather(*(self._ensure(where, some) for where, some in missing.items())):
            found |= made
        return {subject: found[token] for token, subject in tokens.items()}

    async def for_opening(self, texts: Iterable[str], *, fresh: bool = False) -> Opener:
        """Fetch the keys of these texts, many with one request, and return an object that opens the texts. Texts that
        are not sealed with a subject's key are ignored.

        `fresh`: fetch even keys that this process still has. Otherwise the time that a request takes would show which
        keys it has.
        """
        wanted = {sealed.ref for text in texts if (sealed := parse_sealed(text)) is not None}
        now = self._clock()
        usable = {} if fresh else self._kept
        found = {ref: kept[0] for ref in wanted if (kept := usable.get(ref)) is not None and kept[1] > now}
        missing: dict[str, list[KeyRef]] = defaultdict(list)
        for ref in wanted - found.keys():
            missing[ref.partition].append(ref)
        for fetched in await asyncio.gather(*(self._fetch(where, refs) for where, refs in missing.items())):
            found |= fetched
        return Opener(found)

    async def destroy(self, subject: str) -> None:
        """Have the key of an erased subject destroyed, as `destroy_key` does, and drop it from this process's
        memory."""
        token = token_of(self.context, subject)
        await destroy_key(self._ask, self.context, self._partitions, subject)
        self._current.pop(token, None)
        for ref in [ref for ref in self._kept if ref.token == token]:
            del self._kept[ref]

    async def _fetch(self, partition: str, refs: Sequence[KeyRef]) -> dict[KeyRef, SubjectKey | DroverError]:
        asked_at = self._clock()
        found: dict[KeyRef, SubjectKey | DroverError] = dict.fromkeys(refs, Erased())
        for start in range(0, len(refs), TOKENS_MAX):
            tokens = list({ref.token for ref in refs[start : start + TOKENS_MAX]})
            answer = await self._ask(partition, KeyQuestion(fetch=tokens), OPENING_S)
            for wrapped in answer.keys:
                ref = KeyRef(partition, wrapped.token, wrapped.generation)
                if ref in found:
                    found[ref] = self._unwrapped(partition, wrapped)
        for ref, fetched in found.items():
            _keep(self._kept, ref, (fetched, asked_at + KEPT_S))
        return found

    def _unwrapped(self, partition: str, wrapped: WrappedKey) -> SubjectKey | DroverError:
        """Decrypt a key. If that is not possible, return the error: it must not keep other keys from being used."""
        try:
            return unwrap(self.ring, self.context, partition, wrapped)
        except (UnknownSealingKey, SealDamaged) as error:
            return error

    async def _ensure(self, partition: str, tokens: Sequence[str]) -> dict[str, SubjectKey]:
        asked_at = self._clock()
        generations = dict.fromkeys(tokens, 0)
        found: dict[str, SubjectKey] = {}
        for _ in range(GENERATION_TRIES_MAX):
            left = [token for token in tokens if token not in found]
            for start in range(0, len(left), TOKENS_MAX):
                some = left[start : start + TOKENS_MAX]
                new = [make_key(self.ring, self.context, token, generations[token]) for token in some]
                answer = await self._ask(partition, KeyQuestion(create=new), SEALING_S)
                for wrapped in answer.keys:
                    found[wrapped.token] = unwrap(self.ring, self.context, partition, wrapped)
                generations |= answer.erased
            if len(found) == len(tokens):
                break
        else:
            raise KeysUnreachable("the subject is being erased")
        for token, key in found.items():
            _keep(self._current, token, (key, asked_at + KEPT_S))
            _keep(self._kept, key.ref, (key, asked_at + KEPT_S))
        return found


async def destroy_key(ask: Ask, context: str, partitions: Sequence[str], subject: str) -> None:
    """Ask the leader to destroy the key of an erased subject; return when it is destroyed. The erasure must be recorded
    before. Raises KeysUnreachable."""
    token = token_of(context, subject)
    answer = await ask(partition_of(subject, partitions), KeyQuestion(destroy=[token]), SEALING_S)
    if token not in answer.erased:
        raise KeysUnreachable("the leader does not know of the erasure")


def _keep(kept: dict[K, V], name: K, value: V) -> None:
    """Add an entry. Drop the oldest ones if there are too many."""
    kept.pop(name, None)
    kept[name] = value
    while len(kept) > KEPT_MAX:
        del kept[next(iter(kept))]
