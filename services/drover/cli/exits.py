"""Exit codes that mean something, and which error ends with which. Scripts rely on them: they never change meaning."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self

from drover.archive.errors import (
    ArchiveBusy,
    ArchiveMissing,
    ForeignArchive,
    LogNotEmpty,
    OtherPartitions,
    ReadModelAhead,
    RestoreStopped,
)
from drover.bus.connection import NatsUnreachable
from drover.cli.errors import (
    CredentialsUnreadable,
    EventNotFound,
    NoPlatform,
    NoSuchAccount,
    NoSuchLog,
    PostgresUnreachable,
    ServerDown,
)
from drover.domain.errors import DroverError
from drover.embedded.errors import DataDirectoryBusy, DataDirectoryUnusable, PortTaken, ProgramMissing
from drover.eventlog.durability import DurabilityUnknown, UnsyncedServer
from drover.eventlog.log import LogUnreachable
from drover.eventlog.streams import StreamMisconfigured, StreamRefused
from drover.notifier.receivers.choice import ReceiverIncomplete
from drover.projection.errors import OldReadModelRead, ReadModelMissing, RebuildBusy
from drover.service.config import ConfigurationError
from drover.service.spans import OpenTelemetryMissing
from drover.web.serve import PortInUse


class Exit(IntEnum):
    """How a command ended."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    OK = 0, "done, or healthy"
    FAILED = 1, "something went wrong; the sentence on stderr says what"
    USAGE = 2, "the command line was not understood"
    NOT_FOUND = 3, "what was asked for does not exist"
    DEGRADED = 4, "the platform runs, but not as it should"
    UNREACHABLE = 5, "no platform was found, or it did not answer"
    CONFIGURATION = 6, "a setting, or what it points to, must be corrected"
    BUSY = 7, "a port or the data directory belongs to another process"
    INTERRUPTED = 130, "ended by Ctrl-C"


_CODES: Final[dict[type[DroverError], Exit]] = {
    ReadModelMissing: Exit.NOT_FOUND,
    RebuildBusy: Exit.BUSY,
    OldReadModelRead: Exit.BUSY,
    EventNotFound: Exit.NOT_FOUND,
    NoSuchLog: Exit.NOT_FOUND,
    NoSuchAccount: Exit.NOT_FOUND,
    NoPlatform: Exit.UNREACHABLE,
    ServerDown: Exit.UNREACHABLE,
    NatsUnreachable: Exit.UNREACHABLE,
    LogUnreachable: Exit.UNREACHABLE,
    PostgresUnreachable: Exit.UNREACHABLE,
    ConfigurationError: Exit.CONFIGURATION,
    ReceiverIncomplete: Exit.CONFIGURATION,
    OpenTelemetryMissing: Exit.CONFIGURATION,
    CredentialsUnreadable: Exit.CONFIGURATION,
    DataDirectoryUnusable: Exit.CONFIGURATION,
    ProgramMissing: Exit.CONFIGURATION,
    UnsyncedServer: Exit.CONFIGURATION,
    DurabilityUnknown: Exit.CONFIGURATION,
    StreamMisconfigured: Exit.CONFIGURATION,
    StreamRefused: Exit.CONFIGURATION,
    ArchiveMissing: Exit.NOT_FOUND,
    ArchiveBusy: Exit.BUSY,
    ForeignArchive: Exit.CONFIGURATION,
    LogNotEmpty: Exit.CONFIGURATION,
    OtherPartitions: Exit.CONFIGURATION,
    ReadModelAhead: Exit.CONFIGURATION,
    RestoreStopped: Exit.UNREACHABLE,
    DataDirectoryBusy: Exit.BUSY,
    PortTaken: Exit.BUSY,
    PortInUse: Exit.BUSY,
}


def exit_code_of(error: DroverError) -> Exit:
    """The code for an error: that of its nearest class in the table."""
    return next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), Exit.FAILED)


def explained() -> str:
    """The table for `drover --help`. The first line keeps click from filling paragraphs."""
    return "\b\nExit codes:\n" + "\n".join(f"  {code.value:>3}  {code.meaning}" for code in Exit)
