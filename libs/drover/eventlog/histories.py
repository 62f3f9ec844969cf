"""Recognises state that was made from another log than the present one, by comparing the id of the commit at the
state's position.

After a restore, the log may be older or newer than the tables and snapshots beside it. They must never be mixed.
"""

from __future__ import annotations

from drover.domain.errors import DroverError
from drover.eventlog.log import BelowBottom, EventLog, Partition, StoredCommit


class OfAnotherHistory(DroverError):
    """A snapshot, a table or something else that was made from a log does not belong to the log that is there now."""

    def __init__(self, what: str, partition: Partition, why: str, remedy: str) -> None:
        self.what, self.partition, self.why, self.remedy = what, partition, why, remedy
        super().__init__(
            f"{what} is of another history than the log of {partition}: {why}. Nothing was changed. If the log is the "
            f"wrong one, stop the services and restore the right one (`drover archive restore`). If the log is the "
            f"right one: {remedy}"
        )


async def commit_at(log: EventLog, seq: int) -> StoredCommit | None:
    """Return the commit at a position. None: the log has none there, or it was purged and there is no archive."""
    try:
        return await log.get(seq)
    except BelowBottom:
        return None


async def refuse_another_history(log: EventLog, *, seq: int, commit: str, what: str, remedy: str) -> None:
    """Raise OfAnotherHistory unless the log has the commit `commit` at the position `seq`.

    If `commit` is empty, only the position is compared. The same holds if the commit was purged and is in no archive.
    `what`: the subject of the error's sentence. `remedy`: what to do if the log is the right one.
    """
    if seq == 0:
        return
    partition = log.partition
    last = await log.last()
    if last is None:
        raise OfAnotherHistory(what, partition, f"it is at position {seq}, and the log has no commits", remedy)
    if seq > last.seq:
        raise OfAnotherHistory(what, partition, f"it is at position {seq}, and the log ends at {last.seq}", remedy)
    found = await commit_at(log, seq) if commit else None
    if found is not None and found.id != commit:
        why = f"at position {seq} it has the commit {commit}, and the log has {found.id or 'none of Drover'}"
        raise OfAnotherHistory(what, partition, why, remedy)
