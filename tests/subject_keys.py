"""Keys of personal data for tests: in memory, or from the leaders on a NATS server."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from drover.bus.subject_keys import KeyAnswer, KeyQuestion, SubjectKeys, asking
from drover.eventlog.subject_keys import MemorySubjectKeys
from drover.service.sealing import Ring
from drover.service.subject_sealing import KeysUnreachable
from drover.writer.key_server import KeyServer

RING = Ring({"k1": b"1" * 32})
_SEALED: Final = re.compile(rb"sealed:2:[a-z0-9]+\.[A-Za-z0-9_-]{22}\.\d+:([A-Za-z0-9_-]+)")


class Leaders:
    """Serves keys as the leaders of partitions do, without a server."""

    def __init__(
        self,
        store: MemorySubjectKeys | None = None,
        erased: dict[str, int] | Callable[[], Mapping[str, int]] | None = None,
    ) -> None:
        """`erased`: the erasures of the log, or a function that returns them."""
        self.store = store or MemorySubjectKeys()
        self.erased = {} if erased is None else erased
        self.questions: list[KeyQuestion] = []
        self.away = False

    async def ask(self, partition: str, question: KeyQuestion, patience_s: float) -> KeyAnswer:
        if self.away:
            raise KeysUnreachable("nobody leads")
        self.questions.append(question)
        return await KeyServer(self.store, partition, self._known).answer(question)

    def _known(self) -> Mapping[str, int]:
        return self.erased() if callable(self.erased) else self.erased


def local_keys(
    context: str, *, ring: Ring = RING, partitions: Sequence[str] = ("main",), leaders: Leaders | None = None
) -> SubjectKeys:
    return SubjectKeys(context, ring, (leaders or Leaders()).ask, partitions=partitions)


def served_keys(client, context: str, *, ring: Ring = RING, partitions: Sequence[str] = ("main",)) -> SubjectKeys:
    """From the writers that run on this NATS server."""
    return SubjectKeys(context, ring, asking(client, context), partitions=partitions)


def sealed_bytes_in(stored: str | bytes) -> list[bytes]:
    """The contents of all sealed texts in there, without their base64, in which nobody would find a word."""
    found = _SEALED.findall(stored.encode() if isinstance(stored, str) else stored)
    return [urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)) for payload in found]
