"""Restores commits into an empty log, each at its old position. After an interruption it resumes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from drover.archive.archive import Progress, no_progress
from drover.archive.chain import Chain
from drover.archive.errors import LogNotEmpty, RestoreStopped
from drover.archive.text import Placed
from drover.eventlog.log import LogUnreachable, StoredCommit
from drover.eventlog.refill import NotTaken, Refill

TRIES_MAX: Final = 5
"""How many tries in a row may restore no commit. After that the restore stops with an error."""
RETRY_PAUSE_S: Final = 0.5
READ_S: Final = 30.0
"""The time-out for reading a commit that is known to exist."""

Source = Callable[[int], Iterator[Placed]]
"""Returns the commits after a position, in order. It is called again after an error."""


class Restored(msgspec.Struct):
    """The result of a restore."""

    context: str
    last: int
    events: int
    found: int
    """How many commits an earlier run had already restored."""


async def restore(
    refill: Refill, source: Source, *, last: int, events: int, progress: Progress = no_progress
) -> Restored:
    """Restore the commits of `source`; `last` and `events` are its totals. The log must be empty, or begin with the
    same commits."""
    context = refill.context
    position = await already_there(refill, source, last)
    began = position
    chain = _up_to(source, position)
    found = chain.events
    tries = 0
    while position < last:
        try:
            for placed in source(position):
                chain.take(placed.partition, placed.commit)
                await refill.put(placed.partition, placed.commit)
                progress(chain.events, events)
            position = last
        except (NotTaken, LogUnreachable) as error:
            before, position = position, await _settled(refill, source, last, context, position)
            tries = 0 if position > before else tries + 1
            if tries == TRIES_MAX:
                raise RestoreStopped(context, position, str(error)) from error
            await asyncio.sleep(RETRY_PAUSE_S)
            chain = _up_to(source, position)
    await _confirm(refill, source, last)
    progress(events, events)
    return Restored(context, last, events - found, began)


async def _confirm(refill: Refill, source: Source, last: int) -> None:
    """Read the log back and compare it with the source, from the first commit to the last."""
    if last == 0:
        return
    ours = source(0)
    seq = 0
    async with refill.read() as reader:
        while seq < last:
            try:
                async with asyncio.timeout(READ_S):
                    found = await reader.next()
            except TimeoutError as error:
                raise LogUnreachable(f"no commit within {READ_S:g} s") from error
            for there in found[: last - seq]:
                seq += 1
                if not _same(next(ours).commit, there):
                    raise LogNotEmpty(refill.context, last, f"another writer wrote commit {seq}")


def _up_to(source: Source, seq: int) -> Chain:
    """Make a chain that has checked all commits of the source up to this position."""
    chain = Chain()
    if seq:
        for placed in source(0):
            chain.take(placed.partition, placed.commit)
            if placed.commit.seq == seq:
                break
    return chain


async def _settled(refill: Refill, source: Source, last: int, context: str, before: int) -> int:
    try:
        return await already_there(refill, source, last)
    except LogUnreachable:
        return before


async def already_there(refill: Refill, source: Source, last: int) -> int:
    """Return the sequence of the last commit in the log; 0 if it is empty. Raises LogNotEmpty if the log has other
    commits than the source."""
    there = await refill.last()
    if there is None:
        return 0
    if there.seq > last:
        raise LogNotEmpty(refill.context, there.seq, f"there are only {last} commits to restore")
    ours = next(source(there.seq - 1)).commit
    if not _same(ours, there):
        raise LogNotEmpty(refill.context, there.seq, "its last commit differs from the one to restore there")
    return there.seq


def _same(ours: StoredCommit, there: StoredCommit) -> bool:
    return (ours.seq, ours.id, ours.epoch, ours.stored_at, ours.payload) == (
        there.seq,
        there.id,
        there.epoch,
        there.stored_at,
        there.payload,
    )
