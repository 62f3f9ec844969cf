"""The checkpoint of a read model: its position in the log. It is moved in the same transaction as the rows, and only if
no other process has moved it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from drover.eventlog.histories import refuse_another_history
from drover.eventlog.log import EventLog
from drover.postgres.pool import Connection
from drover.projection.errors import CheckpointMoved

_ENSURE: Final = """
INSERT INTO drover.checkpoints (schema, partition, context) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""
_READ: Final = (
    "SELECT seq, n, coalesce(commit_id, '') AS commit FROM drover.checkpoints WHERE schema = $1 AND partition = $2"
)
_MOVE: Final = """
UPDATE drover.checkpoints SET seq = $4, n = $5, commit_id = nullif($6, ''), updated_at = now()
WHERE schema = $1 AND partition = $2 AND seq = $3
"""
_READ_ALL: Final = """
SELECT schema, partition, seq, n, coalesce(commit_id, '') AS commit FROM drover.checkpoints WHERE schema = $1
"""
_IS_CAUGHT_UP: Final = """
SELECT caught_up_at IS NOT NULL FROM drover.checkpoints WHERE schema = $1 AND partition = $2
"""
_CAUGHT_UP: Final = "UPDATE drover.checkpoints SET caught_up_at = now() WHERE schema = $1 AND partition = $2"
_NOT_CAUGHT_UP: Final = "UPDATE drover.checkpoints SET caught_up_at = NULL WHERE schema = $1 AND partition = $2"
_FORGET: Final = "DELETE FROM drover.checkpoints WHERE schema = $1"


class Checkpoint(msgspec.Struct, frozen=True):
    """The last commit and the last event whose rows are written."""

    seq: int = 0
    n: int = 0
    commit: str = ""
    """The id of that commit. Empty: unknown, because an older program wrote the checkpoint."""


async def read_checkpoint(connection: Connection, schema: str, partition: str, context: str) -> Checkpoint:
    """Read the position to continue from; the beginning of the log if this read model has no checkpoint yet."""
    await connection.execute(_ENSURE, schema, partition, context)
    row = await connection.fetchrow(_READ, schema, partition)
    if row is None:  # somebody deleted it between the two statements
        raise CheckpointMoved(schema, partition, 0)
    return Checkpoint(row["seq"], row["n"], row["commit"])


async def move_checkpoint(
    connection: Connection, schema: str, partition: str, old: Checkpoint, new: Checkpoint
) -> None:
    """Move the checkpoint from `old` to `new`. Raises CheckpointMoved if it is not at `old`: then another process
    writes this partition."""
    place = (schema, partition, old.seq)
    if await connection.execute(_MOVE, *place, new.seq, new.n, new.commit) != "UPDATE 1":
        raise CheckpointMoved(schema, partition, old.seq)


async def refuse_another_log(log: EventLog, checkpoint: Checkpoint, schema: str) -> None:
    """Raise OfAnotherHistory if the rows of this schema were computed from another log than this one. Then following
    this one would mix both."""
    context = log.partition.context
    await refuse_another_history(
        log,
        seq=checkpoint.seq,
        commit=checkpoint.commit,
        what=f"The read model {schema}",
        remedy=f"run `drover projection forget {context}`, which drops it, and restart the projector, which computes "
        "it again from this log.",
    )


async def refuse_other_logs(connection: Connection, schema: str, logs: Iterable[EventLog]) -> None:
    """Raise OfAnotherHistory if the rows of any partition of this schema were computed from another log."""
    by_partition = {log.partition.name: log for log in logs}
    for row in await connection.fetch(_READ_ALL, schema):
        if (log := by_partition.get(row["partition"])) is not None:
            await refuse_another_log(log, Checkpoint(row["seq"], row["n"], row["commit"]), schema)


async def forget_checkpoints(connection: Connection, schema: str) -> None:
    """Delete the checkpoints of a schema whose rows were all deleted, so that its partitions start from the
    beginning."""
    await connection.execute(_FORGET, schema)


async def is_caught_up(connection: Connection, schema: str, partition: str) -> bool:
    """Return whether the partition has once reached the end of the log, so that clients may read it."""
    return bool(await connection.fetchval(_IS_CAUGHT_UP, schema, partition))


async def note_caught_up(connection: Connection, schema: str, partition: str) -> None:
    await connection.execute(_CAUGHT_UP, schema, partition)


async def note_not_caught_up(connection: Connection, schema: str, partition: str) -> None:
    """Keep clients from reading the partition until it has reached the end of the log again."""
    await connection.execute(_NOT_CAUGHT_UP, schema, partition)
