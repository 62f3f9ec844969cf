"""What can go wrong with files that hold a part of the log, and with putting them back."""

from __future__ import annotations

from pathlib import Path

from drover.domain.errors import DroverError


class TextDamaged(DroverError):
    """A file of events is not what was written: a line is missing, changed, or out of place."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"Line {line}: {reason}")
        self.line = line
        self.reason = reason


class ChainBroken(DroverError):
    """A commit does not follow from the one before it."""

    def __init__(self, seq: int, reason: str) -> None:
        super().__init__(f"Commit {seq}: {reason}")
        self.seq = seq
        self.reason = reason


class FileDamaged(DroverError):
    """A file cannot be used as it is."""

    def __init__(self, path: Path, reason: str, advice: str) -> None:
        super().__init__(f"{path}: {reason}. {advice}")
        self.path = path
        self.reason = reason


class ArchiveMissing(DroverError):
    """There is no archive, or none of this context."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"There is no archive in {path}: {reason}. `drover archive create` makes one.")
        self.path = path


class ArchiveUnwritable(DroverError):
    """The archive cannot be written; what it held before, it still holds."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be written: {reason}. What the archive held before is whole. Make room or choose another "
            "place, then run the same command again: it goes on where it was."
        )
        self.path = path
        self.reason = reason


class FileUnwritable(DroverError):
    """A file could not be written. Nothing of it is there."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be written: {reason}. Nothing of it is there, and what was before still is.")
        self.path = path
        self.reason = reason


class ArchiveBusy(DroverError):
    """Somebody else writes to this archive."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is being written by another process. Wait for it, or stop it.")
        self.path = path


class ForeignArchive(DroverError):
    """The archive and the log are not of one and the same history."""

    def __init__(self, context: str, seq: int, reason: str) -> None:
        super().__init__(
            f"The archive of {context} and this log are not the same history: {reason}, at commit {seq}. "
            "Give this log a directory of its own."
        )
        self.context = context
        self.seq = seq


class LogNotEmpty(DroverError):
    """The log has commits that are not those to be restored."""

    def __init__(self, context: str, last: int, reason: str) -> None:
        super().__init__(
            f"The log of {context} is not empty: it has {last} commits, and {reason}. Commits are put back into an "
            "empty log only. Stop all services, and use a NATS server (or a data directory) without this stream."
        )
        self.context = context
        self.last = last


class NotWhole(DroverError):
    """The file is a part of a log, and only a whole one can be put back."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be imported: {reason}. Only what `drover events export` wrote without filters can be, "
            "from the first commit on."
        )
        self.path = path


class RestoreStopped(DroverError):
    """The server did not take the commits. Those that it took are there."""

    def __init__(self, context: str, seq: int, reason: str) -> None:
        super().__init__(
            f"Commits of {context} up to {seq} are in the log, then it stopped: {reason}. "
            "Run the same command again: it goes on where it was."
        )
        self.context = context
        self.seq = seq


class OtherPartitions(DroverError):
    """The stream was made with another number of partitions than the log that is to be put into it."""

    def __init__(self, context: str, there: list[str], ours: list[str]) -> None:
        super().__init__(
            f"The empty log of {context} is divided into {', '.join(there)}, what is to be restored into "
            f"{', '.join(ours)}. Delete the empty stream, and run this again before any service starts."
        )
        self.context = context


class ReadModelAhead(DroverError):
    """Postgres has rows of commits that the restored log will not have."""

    def __init__(self, context: str, stands: int, last: int) -> None:
        super().__init__(
            f"The read model of {context} stands at commit {stands}, and what is to be restored ends with {last}: its "
            "rows tell of commits that are lost. --forget-read-models drops the tables, which are then folded anew."
        )
        self.context = context
        self.stands = stands
        self.last = last
