"""Encrypts (wraps) the keys of subjects again with the first key of the ring (the sealing keys), through the leaders
that serve them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

from nats.aio.client import Client

from drover.bus.subject_keys import SEALING_S, KeyQuestion, Rewrapped, asking, store_rewrapped
from drover.eventlog.log import Partition
from drover.service.sealing import Ring, SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import WrappedKey, rewrap

REWRAPPED_AT_ONCE: Final = 100
"""How many keys one request stores. The leader stores them one after the other, and must answer in time."""


class Rotation:
    """What a rotation did."""

    def __init__(self) -> None:
        self.done = Counter[str]()
        """How many keys were `wrapped`, were `current` already, `changed` meanwhile, or are `unreadable`."""
        self.tokens = set[str]()
        """The names of the keys that were wrapped with another key of the ring when the rotation came to them."""


async def rotate_partition(client: Client, partition: Partition, ring: Ring) -> Rotation:
    """Wrap the keys of a partition with the first key of the ring. Keys that are done move to the end of the list, so
    if the command was interrupted, it continues where it stopped."""
    rotation, waiting = Rotation(), list[Rewrapped]()
    done, seen = rotation.done, rotation.tokens

    async def store() -> None:
        stored = await store_rewrapped(client, partition.context, partition.name, waiting)
        done.update(wrapped=stored, changed=len(waiting) - stored)
        waiting.clear()

    async for key in stored_keys(client, partition):
        if key.kid == ring.current:
            done["current"] += key.token not in seen
            continue
        seen.add(key.token)
        try:
            waiting.append(Rewrapped(key, rewrap(ring, partition.context, key)))
        except (UnknownSealingKey, SealDamaged):
            done["unreadable"] += 1
        if len(waiting) == REWRAPPED_AT_ONCE:
            await store()
    await store()
    return rotation


async def stored_keys(client: Client, partition: Partition) -> AsyncIterator[WrappedKey]:
    """List the keys of a partition."""
    ask, after = asking(client, partition.context), 0
    while True:
        answer = await ask(partition.name, KeyQuestion(list_after=after), SEALING_S)
        for key in answer.keys:
            yield key
        if answer.next is None:
            return
        after = answer.next
