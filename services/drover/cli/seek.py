"""Finds a position in the log of a partition without reading from its start. The sequence numbers of a partition have
gaps, because partitions share a stream."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final

from drover.archive.whole_log import WholeLog
from drover.cli.record import Record, records
from drover.eventlog.log import EventLog, LogUnreachable, Reader, StoredCommit

READ_S: Final = 10.0
"""Time-out in seconds for reading a commit that is known to exist."""
WINDOW_MIN: Final = 64
WINDOW_MAX: Final = 16_384
"""Maximum of sequence numbers to read at once when searching backwards."""
WINDOW_GROWTH: Final = 4


async def first_commit(log: EventLog, holds: Callable[[StoredCommit], bool]) -> StoredCommit | None:
    """Find the first commit for which `holds` is true. None: there is none. `holds` must be true for all later commits,
    too.

    Binary search: about thirty reads in a log of a thousand million commits.
    """
    found = await _last_with_events(log)
    if found is None or not holds(found):
        return None
    low, high = 1, found.seq  # `found` is always the first commit from `high` on
    while low < high:
        middle = (low + high) // 2
        probe = await commit_from(log, middle)
        if holds(probe):
            found, high = probe, middle
        else:
            low = probe.seq + 1
    return found


async def _last_with_events(log: EventLog) -> StoredCommit | None:
    """Return the last commit with events; None if there is none. The last message of the stream may have no events, so
    this searches backwards."""
    last = await log.last()
    if last is None or last.payload:
        return last
    upto = last.seq
    while upto > 0:
        after = max(0, upto - WINDOW_MIN)
        found = [commit async for commit in commits_between(log, after, upto) if commit.payload]
        if found:
            return found[-1]
        upto = after
    return None


async def commit_from(log: EventLog, seq: int) -> StoredCommit:
    """Return the first commit with events at this sequence number or after it. There must be one."""
    if isinstance(log, WholeLog) and (archived := await log.archived_from(seq)) is not None:
        return archived
    async with log.read(seq - 1) as reader:
        while True:
            for commit in await _next(reader):
                if commit.payload:
                    return commit


async def commits_between(log: EventLog, after: int, upto: int) -> AsyncIterator[StoredCommit]:
    """Read the commits after `after` up to `upto`, in order. There must be one at `upto` or later."""
    if after >= upto:
        return
    async with log.read(after) as reader:
        while True:
            for commit in await _next(reader):
                if commit.seq <= upto:
                    yield commit
                if commit.seq >= upto:
                    return


async def last_records(log: EventLog, upto: int, count: int, wanted: Callable[[Record], bool]) -> list[Record]:
    """Return the last `count` wanted events up to the commit `upto`, oldest first. Reads backwards, more at each
    step."""
    found: deque[Record] = deque()
    window = max(WINDOW_MIN, min(count, WINDOW_MAX))
    while upto > 0 and len(found) < count:
        after = max(0, upto - window)
        part: deque[Record] = deque(maxlen=count - len(found))
        async for commit in commits_between(log, after, upto):
            part.extend(record for record in records(commit) if wanted(record))
        found.extendleft(reversed(part))
        upto, window = after, min(window * WINDOW_GROWTH, WINDOW_MAX)
    return list(found)


async def _next(reader: Reader) -> list[StoredCommit]:
    try:
        async with asyncio.timeout(READ_S):
            return await reader.next()
    except TimeoutError as error:
        raise LogUnreachable(f"no commit within {READ_S:g} s") from error
