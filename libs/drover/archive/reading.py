"""Reads a context's log from one position to another, with the partition of each commit. It does not wait for new
commits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Final, cast

from drover.archive.text import Placed
from drover.eventlog.log import EventLog, LogUnreachable, StoredCommit
from drover.projection.merged_commits import merged_commits

READ_S: Final = 30.0
"""The time-out for reading a commit that is known to exist."""


async def ends_of(logs: Sequence[EventLog]) -> dict[str, int]:
    """Return the sequence at which to stop reading each partition, by partition. The end of the whole context is read
    first and limits all of them, so that commits which arrive meanwhile are left out everywhere."""
    end = await logs[0].context_end()
    ends: dict[str, int] = {}
    for log in logs:
        last = await log.last()
        ends[log.partition.name] = min(last.seq, end) if last else 0
    return ends


async def placed_commits(
    logs: Sequence[EventLog], ends: Mapping[str, int], after: int = 0
) -> AsyncGenerator[Placed, None]:
    """Yield the commits of all partitions in stream order. `logs`: one for each partition. `ends`: the result of
    `ends_of`.

    Use `aclosing` if you may not read it to the end, because it keeps readers open.
    """
    commits = merged_commits(logs, ends, dict.fromkeys(ends, after))
    async with aclosing(cast(AsyncGenerator[tuple[str, StoredCommit], None], commits)) as found:
        while True:
            try:
                async with asyncio.timeout(READ_S):
                    partition, commit = await anext(found)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise LogUnreachable(f"no commit within {READ_S:g} s") from error
            yield Placed(partition, commit)
