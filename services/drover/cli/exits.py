"""The exit codes of `drover`, and the code of each error. Scripts rely on them, so their meaning never changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, Self

from drover.domain.errors import DroverError


class Exit(IntEnum):
    """An exit code: how a command ended."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    OK = 0, "done, or healthy"
    FAILED = 1, "something went wrong; the sentence on stderr says what"
    USAGE = 2, "the command line is invalid"
    NOT_FOUND = 3, "what was asked for does not exist"
    DEGRADED = 4, "the platform runs, but not as it should"
    UNREACHABLE = 5, "no platform was found, or it did not answer"
    CONFIGURATION = 6, "a setting, or what it points to, must be corrected"
    BUSY = 7, "a port or the data directory belongs to another process"
    INTERRUPTED = 130, "ended by Ctrl-C"


CODES: Final[Mapping[str, Exit]] = {
    "drover.cli.errors.IdAmbiguous": Exit.USAGE,
    "drover.cli.errors.InputRefused": Exit.USAGE,
    "drover.cli.errors.PlatformTroubled": Exit.DEGRADED,
    "drover.archive.errors.ArchiveMissing": Exit.NOT_FOUND,
    "drover.cli.errors.EventNotFound": Exit.NOT_FOUND,
    "drover.cli.errors.NoSuchAccount": Exit.NOT_FOUND,
    "drover.cli.errors.NoSuchKey": Exit.NOT_FOUND,
    "drover.cli.errors.NoSuchLog": Exit.NOT_FOUND,
    "drover.cli.errors.NotExplained": Exit.NOT_FOUND,
    "drover.cli.errors.NothingFound": Exit.NOT_FOUND,
    "drover.cli.errors.NothingToErase": Exit.NOT_FOUND,
    "drover.cli.errors.NotThere": Exit.NOT_FOUND,
    "drover.projection.errors.DetachedTableMissing": Exit.NOT_FOUND,
    "drover.projection.errors.ReadModelMissing": Exit.NOT_FOUND,
    "drover.archive.errors.ArchiveUnreachable": Exit.UNREACHABLE,
    "drover.archive.errors.RestoreStopped": Exit.UNREACHABLE,
    "drover.bus.connection.NatsUnreachable": Exit.UNREACHABLE,
    "drover.cli.errors.NoAddress": Exit.UNREACHABLE,
    "drover.cli.errors.NoPlatform": Exit.UNREACHABLE,
    "drover.cli.errors.PostgresUnreachable": Exit.UNREACHABLE,
    "drover.cli.errors.ServerAway": Exit.UNREACHABLE,
    "drover.cli.errors.ServerDown": Exit.UNREACHABLE,
    "drover.eventlog.log.LogUnreachable": Exit.UNREACHABLE,
    "drover.archive.errors.ForeignArchive": Exit.CONFIGURATION,
    "drover.archive.errors.LogNotEmpty": Exit.CONFIGURATION,
    "drover.archive.errors.OtherBeginning": Exit.CONFIGURATION,
    "drover.archive.errors.OtherPartitions": Exit.CONFIGURATION,
    "drover.archive.errors.ReadModelAhead": Exit.CONFIGURATION,
    "drover.archive.errors.SnapshotTooOld": Exit.CONFIGURATION,
    "drover.archive.opening.BucketClientMissing": Exit.CONFIGURATION,
    "drover.cli.errors.CertificateUntrusted": Exit.CONFIGURATION,
    "drover.cli.errors.CredentialsUnreadable": Exit.CONFIGURATION,
    "drover.cli.errors.KeyNotAccepted": Exit.CONFIGURATION,
    "drover.cli.errors.NoKey": Exit.CONFIGURATION,
    "drover.cli.up.FarmLockedOut": Exit.CONFIGURATION,
    "drover.cli.up.ForeignSettings": Exit.CONFIGURATION,
    "drover.embedded.errors.DataDirectoryUnusable": Exit.CONFIGURATION,
    "drover.embedded.errors.ProgramMissing": Exit.CONFIGURATION,
    "drover.eventlog.copies.ReplicasUnchanged": Exit.FAILED,
    "drover.eventlog.copies.TooFewNodes": Exit.CONFIGURATION,
    "drover.eventlog.durability.DurabilityUnknown": Exit.CONFIGURATION,
    "drover.eventlog.durability.UnsyncedServer": Exit.CONFIGURATION,
    "drover.eventlog.histories.OfAnotherHistory": Exit.CONFIGURATION,
    "drover.eventlog.log.BelowBottom": Exit.CONFIGURATION,
    "drover.eventlog.streams.CompressedReplicas": Exit.CONFIGURATION,
    "drover.eventlog.streams.PurgeDenied": Exit.CONFIGURATION,
    "drover.eventlog.streams.StreamMisconfigured": Exit.CONFIGURATION,
    "drover.eventlog.streams.StreamRefused": Exit.CONFIGURATION,
    "drover.eventlog.streams.TooFewReplicas": Exit.CONFIGURATION,
    "drover.notifier.receivers.choice.ReceiverIncomplete": Exit.CONFIGURATION,
    "drover.reminder.app.UnknownTimezone": Exit.CONFIGURATION,
    "drover.reminder.providers.apprise.AppriseAddressBad": Exit.CONFIGURATION,
    "drover.reminder.providers.choice.ProviderIncomplete": Exit.CONFIGURATION,
    "drover.reminder.providers.missing.ExtraMissing": Exit.CONFIGURATION,
    "drover.render.app.RenderSettingsMissing": Exit.CONFIGURATION,
    "drover.nas.opening.NasAddressInvalid": Exit.CONFIGURATION,
    "drover.service.config.ConfigurationError": Exit.CONFIGURATION,
    "drover.service.error_reports.SentryMissing": Exit.CONFIGURATION,
    "drover.service.sealing.SealingKeysUnusable": Exit.CONFIGURATION,
    "drover.service.subject_sealing.KeysUnreachable": Exit.UNREACHABLE,
    "drover.service.sealing.UnknownSealingKey": Exit.CONFIGURATION,
    "drover.service.spans.OpenTelemetryMissing": Exit.CONFIGURATION,
    "drover.web.serve.CannotListen": Exit.CONFIGURATION,
    "drover.writer.migration_marker.HalfMigrated": Exit.CONFIGURATION,
    "drover.archive.errors.ArchiveBusy": Exit.BUSY,
    "drover.archive.errors.LogInUse": Exit.BUSY,
    "drover.embedded.errors.DataDirectoryBusy": Exit.BUSY,
    "drover.embedded.errors.PortTaken": Exit.BUSY,
    "drover.projection.errors.OldReadModelRead": Exit.BUSY,
    "drover.projection.errors.ReaderViewsRead": Exit.BUSY,
    "drover.projection.errors.RebuildBusy": Exit.BUSY,
    "drover.projection.errors.TablesRead": Exit.BUSY,
    "drover.web.serve.PortInUse": Exit.BUSY,
}
"""The exit codes of error classes, by the name of the class, so that this module need not import it. All other errors
have `Exit.FAILED`."""


def exit_code_of(error: DroverError) -> Exit:
    """Return the exit code for an error: that of its class, or of the nearest parent class in `CODES`."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((CODES[name] for name in names if name in CODES), Exit.FAILED)


def explained() -> str:
    """Format the table of exit codes for `drover --help`. Its first line keeps click from joining the lines."""
    return "\b\nExit codes:\n" + "\n".join(f"  {code.value:>3}  {code.meaning}" for code in Exit)
