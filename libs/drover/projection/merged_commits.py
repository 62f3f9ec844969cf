"""Reads all commits of a context up to the positions of its read model, in stream order. Then it ends; it does not wait
for more."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack

from drover.eventlog.log import EventLog, Reader, StoredCommit


class _Head:
    """The next commit of one partition, up to the partition's end."""

    def __init__(self, reader: Reader, end: int) -> None:
        self._reader = reader
        self._end = end
        self._read: deque[StoredCommit] = deque()
        self._over = end == 0

    async def peek(self) -> StoredCommit | None:
        if not self._read and not self._over:
            commits = await self._reader.next()
            self._over = commits[-1].seq >= self._end
            self._read.extend(commit for commit in commits if commit.seq <= self._end)
        return self._read[0] if self._read else None

    def take(self) -> StoredCommit:
        return self._read.popleft()


async def merged_commits(
    logs: Sequence[EventLog], ends: Mapping[str, int], after: Mapping[str, int] | None = None
) -> AsyncIterator[tuple[str, StoredCommit]]:
    """Yield (partition, commit) in the order of sequences. `ends` and `after`: by partition, the last sequence to read,
    and the one to start after."""
    begin = after or {}
    async with AsyncExitStack() as stack:
        heads: dict[str, _Head] = {}
        for log in logs:
            name = log.partition.name
            if ends.get(name, 0) > begin.get(name, 0):
                reader = await stack.enter_async_context(log.read(after=begin.get(name, 0)))
                heads[name] = _Head(reader, ends[name])
        while heads:
            next_: tuple[int, str] | None = None
            for name in list(heads):
                commit = await heads[name].peek()
                if commit is None:
                    del heads[name]
                elif next_ is None or commit.seq < next_[0]:
                    next_ = (commit.seq, name)
            if next_ is not None:
                yield next_[1], heads[next_[1]].take()
