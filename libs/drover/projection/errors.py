"""The errors of projections. Errors that are retried, such as an unavailable server, have no class here."""

from __future__ import annotations

from typing import Any

from drover.domain.errors import DroverError


class ProjectionStopped(DroverError):
    """A projection met something that it must not skip and cannot process. It stays stopped until a person acts.

    Reasons: `unreadable` (an unknown event type, a damaged commit), `gap` (ordinals are not consecutive),
    `another_history` (the read model was computed from another log), `fold` (the projection's own code failed),
    `refused` (Postgres rejects the rows), `internal` (the runtime itself failed).
    """

    def __init__(self, context: str, partition: str, reason: str, **details: Any) -> None:
        self.context, self.partition, self.reason, self.details = context, partition, reason, details
        said = ", ".join(f"{name}={value!r}" for name, value in details.items())
        super().__init__(f"projection of {context}/{partition} stopped ({reason}): {said}")


class CheckpointMoved(DroverError):
    """Another process moved the checkpoint after this projector read it. Nothing of this batch was written."""

    def __init__(self, schema: str, partition: str, expected: int) -> None:
        self.schema, self.partition, self.expected = schema, partition, expected
        super().__init__(f"checkpoint of {schema}/{partition} is not at {expected} any more")


class RowMissing(DroverError):
    """An event refers to a row that no earlier event created."""

    def __init__(self, table: str, key: Any) -> None:
        self.table, self.key = table, key
        super().__init__(f"no row {key!r} in {table}")


class UndeclaredRow(DroverError):
    """A fold reads a row that `Projection.reads` does not list, so the row was not loaded."""

    def __init__(self, table: str, key: Any) -> None:
        self.table, self.key = table, key
        super().__init__(f"fold reads {table} {key!r}, which keys() did not name")


class BadPosition(DroverError):
    """A position header does not have the form `context=sequence,context=sequence`."""

    def __init__(self, field: str, value: str, reason: str) -> None:
        self.field, self.value, self.reason = field, value, reason
        super().__init__(f"{field}: {reason}")


class ReadModelMissing(DroverError):
    """The read model does not exist yet: no projector has run."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        super().__init__(
            f"{schema} does not exist yet. Start a projector first: `drover up`, or `drover serve projector`."
        )


class RebuildBusy(DroverError):
    """Another process is rebuilding this read model."""

    def __init__(self, projection: str) -> None:
        self.projection = projection
        super().__init__(f"The read model {projection} is being rebuilt by another process. Wait for it, or stop it.")


class OldReadModelRead(DroverError):
    """The old schema of an earlier rebuild is still being read, and there can be only one old schema."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        super().__init__(f"{schema} is still being read. End the transaction that reads it, then run this again.")


class SpillFull(DroverError):
    """The temporary folder has no space for rows that do not fit into memory."""

    def __init__(self, folder: str, why: str) -> None:
        self.folder, self.why = folder, why
        super().__init__(
            f"No space in {folder} for the rows that do not fit into memory ({why}). Free some, or set TMPDIR to "
            "a folder on a larger disk: 1 GB is enough for a million assignments."
        )


class ReaderViewsRead(DroverError):
    """Somebody reads a view for SQL readers without a break, so the new read model cannot take over."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        super().__init__(
            f"The views on {schema} are being read all the time, so they cannot be changed. End the long statements "
            "(pg_stat_activity), and run the rebuild again: it continues."
        )


class TablesRead(DroverError):
    """Somebody reads the tables of events without a break, so their partitions cannot be changed."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        super().__init__(
            f"The tables of {schema} are being read all the time, so their partitions cannot be changed. End the long "
            "statements (pg_stat_activity), and run this again. Nothing was changed."
        )


class DetachedTableMissing(DroverError):
    """A detached table was dropped and not restored, so it cannot be attached."""

    def __init__(self, context: str, names: list[str]) -> None:
        self.context, self.names = context, names
        super().__init__(
            f"Not in the schema drover_detached: {', '.join(names)}. Restore the dump with pg_restore and run this "
            f"again, or fold the rows again from the log: `drover projection attach {context} --fold-again`."
        )


class DetachedTableOutdated(DroverError):
    """A detached table has other columns than the read model has today."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(
            f"drover_detached.{name} is of an earlier form of the read model ({reason}). Drop it, and run this again "
            "with --fold-again: its rows are folded again from the log."
        )
