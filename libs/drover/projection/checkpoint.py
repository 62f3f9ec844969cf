"""The checkpoint of a read model: its position in the log. It is moved in the same transaction as the rows, and only if
no other process has moved it."""

from __future__ import annotations

from typing import Final

import msgspec

from drover.postgres.pool import Connection
from drover.projection.errors import CheckpointMoved

_ENSURE: Final = """
INSERT INTO drover.checkpoints (schema, partition, context) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""
_READ: Final = "SELECT seq, n FROM drover.checkpoints WHERE schema = $1 AND partition = $2"
_MOVE: Final = """
UPDATE drover.checkpoints SET seq = $4, n = $5, updated_at = now()
WHERE schema = $1 AND partition = $2 AND seq = $3
"""
_IS_CAUGHT_UP: Final = """
SELECT caught_up_at IS NOT NULL FROM drover.checkpoints WHERE schema = $1 AND partition = $2
"""
_CAUGHT_UP: Final = "UPDATE drover.checkpoints SET caught_up_at = now() WHERE schema = $1 AND partition = $2"
_FORGET: Final = "DELETE FROM drover.checkpoints WHERE schema = $1"


class Checkpoint(msgspec.Struct, frozen=True):
    """The last commit and the last event whose rows are written."""

    seq: int = 0
    n: int = 0


async def read_checkpoint(connection: Connection, schema: str, partition: str, context: str) -> Checkpoint:
    """Read the position to continue from; the beginning of the log if this read model has no checkpoint yet."""
    await connection.execute(_ENSURE, schema, partition, context)
    row = await connection.fetchrow(_READ, schema, partition)
    if row is None:  # dropped between the two statements
        raise CheckpointMoved(schema, partition, 0)
    return Checkpoint(row["seq"], row["n"])


async def move_checkpoint(
    connection: Connection, schema: str, partition: str, old: Checkpoint, new: Checkpoint
) -> None:
    """Move the checkpoint from `old` to `new`. Raises CheckpointMoved if it is not at `old`: then another process
    writes this partition."""
    if await connection.execute(_MOVE, schema, partition, old.seq, new.seq, new.n) != "UPDATE 1":
        raise CheckpointMoved(schema, partition, old.seq)


async def forget_checkpoints(connection: Connection, schema: str) -> None:
    """Delete the checkpoints of a schema whose rows were all deleted, so that its partitions start from the
    beginning."""
    await connection.execute(_FORGET, schema)


async def is_caught_up(connection: Connection, schema: str, partition: str) -> bool:
    """Return whether the partition has once reached the end of the log, so that clients may read it."""
    return bool(await connection.fetchval(_IS_CAUGHT_UP, schema, partition))


async def note_caught_up(connection: Connection, schema: str, partition: str) -> None:
    await connection.execute(_CAUGHT_UP, schema, partition)
