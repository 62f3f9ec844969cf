"""Errors of archives, of exported files and of restoring them."""

from __future__ import annotations

from pathlib import Path

from drover.domain.errors import DroverError
from drover.eventlog.log import LogUnreachable


class TextDamaged(DroverError):
    """A file of events was changed: a line is missing, different, or out of place."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"Line {line}: {reason}")
        self.line = line
        self.reason = reason


class ChainBroken(DroverError):
    """A commit does not continue the sequence of commits before it."""

    def __init__(self, seq: int, reason: str) -> None:
        super().__init__(f"Commit {seq}: {reason}")
        self.seq = seq
        self.reason = reason


class FileDamaged(DroverError):
    """A file is damaged and cannot be used."""

    def __init__(self, path: Path | str, reason: str, advice: str) -> None:
        super().__init__(f"{path}: {reason}. {advice}")
        self.path = path
        self.reason = reason


class ArchiveMissing(DroverError):
    """There is no archive, or none of this context."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"There is no archive in {path}: {reason}. `drover archive create` makes one.")
        self.path = path


class ArchiveUnwritable(DroverError):
    """The archive cannot be written; its earlier content is intact."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be written: {reason}. What the archive held before is intact. Free some space or "
            "choose another directory, then run the same command again: it resumes where it stopped."
        )
        self.path = path
        self.reason = reason


class ArchiveUnreachable(LogUnreachable):
    """The bucket of the archive does not answer, or refuses the request. It is a LogUnreachable, because to readers the
    archive is a part of the log."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(reason)
        self.args = (
            f"{place} cannot be reached: {reason}. Check DROVER_ARCHIVE, DROVER_ARCHIVE_S3_ENDPOINT and the "
            "credentials, and that the server runs.",
        )
        self.place = place


class FileUnwritable(DroverError):
    """A file could not be written. Nothing is left of it."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path} cannot be written: {reason}. No part of it was written; an earlier file is intact.")
        self.path = path
        self.reason = reason


class ArchiveBusy(DroverError):
    """Another process writes to this archive."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(f"{path} is being written by another process. Wait for it, or stop it.")
        self.path = path


class ArchiveIncomplete(DroverError):
    """Commits that are to be removed from the log are not in the archive."""

    def __init__(self, context: str, last: int, needed: int) -> None:
        super().__init__(
            f"The archive of {context} ends at commit {last}, so commits up to {needed} must not leave the log. "
            "Run `drover archive create` first."
        )
        self.context = context
        self.last = last
        self.needed = needed


class ForeignArchive(DroverError):
    """The archive and the log have different histories."""

    def __init__(self, context: str, seq: int, reason: str) -> None:
        super().__init__(
            f"The archive of {context} and this log have different histories at commit {seq}: {reason}. Check the "
            "address of the archive (DROVER_ARCHIVE), or give this log an archive of its own."
        )
        self.context = context
        self.seq = seq


class LogInUse(DroverError):
    """A process writes to the log."""

    def __init__(self, partition: str, instance: str) -> None:
        super().__init__(
            f"{instance} leads {partition}. Stop all services, then run this again. A process that was killed counts "
            "as the leader for up to 10 s."
        )
        self.partition = partition
        self.instance = instance


class SnapshotTooOld(DroverError):
    """Commits are to be removed from a log, but no snapshot of the state contains them. A writer could not start any
    more."""

    def __init__(self, partition: str, snapshot: int, first: int) -> None:
        stands = f"its newest one is at commit {snapshot}" if snapshot else "it has none"
        super().__init__(
            f"The log of {partition} cannot begin at commit {first}: no snapshot of its state is at or above it "
            f"({stands}). Choose a larger --keep, or start the services until they have saved a snapshot: they do so "
            "after 50,000 events, and once a day."
        )
        self.partition = partition
        self.first = first


class LogNotEmpty(DroverError):
    """The log has other commits than those to be restored."""

    def __init__(self, context: str, last: int, reason: str) -> None:
        super().__init__(
            f"The log of {context} is not empty: it ends at commit {last}, and {reason}. Only an empty log can be "
            "restored into. Stop all services, and use a NATS server (or a data directory) without this stream."
        )
        self.context = context
        self.last = last


class NotWhole(DroverError):
    """The file holds only a part of a log; only a complete log can be imported."""

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be imported: {reason}. Import a file that `drover events export` wrote without filters, "
            "from the first commit on."
        )
        self.path = path


class RestoreStopped(DroverError):
    """The server refused a commit. The commits before it are in the log."""

    def __init__(self, context: str, seq: int, reason: str) -> None:
        super().__init__(
            f"Commits of {context} up to {seq} are in the log; then the restore stopped: {reason}. "
            "Run the same command again: it resumes where it stopped."
        )
        self.context = context
        self.seq = seq


class OtherPartitions(DroverError):
    """The stream has another number of partitions than the log to be restored."""

    def __init__(self, context: str, there: list[str], ours: list[str]) -> None:
        super().__init__(
            f"The empty log of {context} has the partitions {', '.join(there)}, but the log to be restored has "
            f"{', '.join(ours)}. Delete the empty stream, and run this again before any service starts."
        )
        self.context = context


class OtherBeginning(DroverError):
    """The stream is empty, but would give the restored commits other positions than they had."""

    def __init__(self, context: str, there: int, ours: int) -> None:
        super().__init__(
            f"The empty log of {context} begins at position {there}, but the log to be restored begins at {ours}. "
            "Delete the empty stream, and run this again before any service starts."
        )
        self.context = context


class ReadModelAhead(DroverError):
    """Postgres has rows made from commits that the restored log will not have."""

    def __init__(self, context: str, position: int, last: int) -> None:
        super().__init__(
            f"The read model of {context} is at commit {position}, but the log to be restored ends at {last}: its rows "
            "show commits that are lost. --forget-read-models drops the tables; the projector rebuilds them."
        )
        self.context = context
        self.position = position
        self.last = last
