"""A position whose commit has left the log: unknown, so nobody is refused."""

import pytest

from drover.eventlog.histories import refuse_another_history
from drover.eventlog.log import BelowBottom, Commit, Partition
from drover.eventlog.memory import MemoryLog


class PurgedLog(MemoryLog):
    async def get(self, seq):
        raise BelowBottom(self.partition, seq - 1)


@pytest.mark.req("YR-14")
async def test_a_commit_below_the_bottom_of_a_log_without_an_archive_is_unknown():
    log = PurgedLog(Partition("fleet"))
    for expected in range(3):
        await log.append(Commit(f"id-{expected}", 1, b""), expected)
    await refuse_another_history(log, seq=1, commit="purged", what="It", remedy="none")
