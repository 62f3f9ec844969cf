"""Errors of commands that use the platform, each with a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drover.domain.errors import Code, DroverError


class NoPlatform(DroverError):
    """No option, setting or data directory says where the platform is."""

    def __init__(self, data_dir: Path, *, is_named: bool = False) -> None:
        """`is_named`: whether --data-dir was given, so that the environment was ignored."""
        missing = data_dir / "credentials.json"
        if is_named:
            said = f"No platform found: there is no {missing}. "
            advice = f"Start one with `drover up --data-dir {data_dir}`, or name another directory with --data-dir."
        else:
            said = f"No platform found: DROVER_NATS_URL is not set and there is no {missing}. "
            advice = (
                "Start one with `drover up`, name its directory with --data-dir, or set DROVER_NATS_URL and "
                "DROVER_POSTGRES_URL."
            )
        super().__init__(said + advice)
        self.data_dir = data_dir


class NoAddress(DroverError):
    """No option, setting or data directory says where the platform answers HTTP."""

    def __init__(self, data_dir: Path, *, is_named: bool = False) -> None:
        """`is_named`: whether --data-dir was given, so that the environment was ignored."""
        missing = data_dir / "credentials.json"
        if is_named:
            said = f"No platform found: there is no {missing}. "
            advice = f"Start one with `drover up --data-dir {data_dir}`, or name another directory with --data-dir."
        else:
            said = f"No platform found: DROVER_URL is not set and there is no {missing}. "
            advice = (
                "Start one with `drover up`, name its directory with --data-dir, or set DROVER_URL and DROVER_KEY_FILE."
            )
        super().__init__(said + advice)
        self.data_dir = data_dir


class NoKey(DroverError):
    """There is an address, but no key for it."""

    def __init__(self, url: str) -> None:
        super().__init__(f"There is no key for {url}. Name a file with a key in DROVER_KEY_FILE, or use --key.")
        self.url = url


class ServerAway(DroverError):
    """The platform does not answer HTTP at its address."""

    def __init__(self, url: str, reason: str, source: str, advice: str) -> None:
        super().__init__(f"Drover does not answer at {url} ({reason}). The address comes from {source}: {advice}")
        self.url = url
        self.reason = reason


class CertificateUntrusted(ServerAway):
    """The platform answers HTTPS with a certificate that this machine does not trust."""

    def __init__(self, url: str, reason: str, source: str) -> None:
        advice = "set SSL_CERT_FILE to the certificate of its authority."
        super().__init__(url, reason, source, advice)


class NotDrover(ServerAway):
    """Something else than Drover answers at the address."""


class Refused(DroverError):
    """The platform refused a request."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(sentences(message, hint))
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint


class InputRefused(Refused):
    """The platform refused a value of the command line."""


class KeyNotAccepted(Refused):
    """The platform did not accept the key."""

    def __init__(self, code: str, message: str, hint: str | None, source: str) -> None:
        said = f"The key of {source} was not accepted: {sentences(message, hint)}"
        super().__init__(401, code, said, "Make another one with `drover key create service_role`, or sign in again.")


class SignInRefused(DroverError):
    """The platform does not accept the address and the password of a person."""

    def __init__(self, url: str, email: str) -> None:
        super().__init__(
            f"{url} does not accept this password for {email}, or has no such account. An admin can set a new password "
            "with `drover account password`."
        )
        self.url, self.email = url, email


class NotThere(Refused):
    """The platform does not have what was asked for."""


class PlatformTroubled(Refused):
    """The platform could not handle a request now."""


class NothingFound(DroverError):
    """Nothing has the given id."""

    def __init__(self, kind: str, given: str, near: Sequence[str], listing: str) -> None:
        """`near`: what could have been meant, in words. `listing`: the command that lists all."""
        said = f"There is no {kind} {given}."
        advice = f" Did you mean {' or '.join(near)}?" if near else f" `{listing}` shows what there is."
        super().__init__(said + advice)
        self.kind, self.given, self.near = kind, given, list(near)


class IdAmbiguous(DroverError):
    """Several things have an id that begins with the given text."""

    def __init__(self, given: str, matching: Sequence[str], *, more: bool) -> None:
        """`matching`: each one in words. `more`: whether there are others."""
        lines = [*matching, *(["and more"] if more else [])]
        listed = "\n  ".join((f"Several ids begin with {given}:", *lines))
        super().__init__(f"{listed}\nWrite more of the one you mean.")
        self.given, self.matching = given, list(matching)


class NotExplained(DroverError):
    """The platform has no explanation for something that it knows."""

    def __init__(self, kind: str, listing: str) -> None:
        command = listing.replace("list", "show")
        super().__init__(f"This version of the platform cannot explain a {kind}. `{command} ID` shows what it knows.")
        self.kind = kind


class CredentialsUnreadable(DroverError):
    """A file of the data directory that says where the platform is cannot be read."""

    def __init__(self, path: Path, reason: str, advice: str) -> None:
        super().__init__(f"{path} cannot be read: {reason}. {advice}")
        self.path = path
        self.reason = reason


class ServerDown(DroverError):
    """NATS does not answer at its address."""

    def __init__(self, address: str, reason: str, source: str, advice: str) -> None:
        super().__init__(f"NATS does not answer at {address} ({reason}). The address comes from {source}: {advice}")
        self.address = address
        self.reason = reason


class PostgresUnreachable(DroverError):
    """The database of the read models cannot be used."""

    def __init__(self, reason: str, source: str, advice: str) -> None:
        super().__init__(f"PostgreSQL cannot be used ({reason}). The address comes from {source}: {advice}")
        self.reason = reason


class NoSuchLog(DroverError):
    """The server has no log of the requested context."""

    def __init__(self, context: str) -> None:
        super().__init__(
            f"There is no log of the context {context!r} on this server. Check --context; "
            "the log is created when its service first starts."
        )
        self.context = context


class EventNotFound(DroverError):
    """The log has no event with the requested number or place."""

    def __init__(self, reference: str, last_n: int) -> None:
        until = f"events 1 to {last_n}" if last_n else "no events yet"
        super().__init__(f"There is no event {reference}: this log has {until}.")
        self.reference = reference
        self.last_n = last_n


class DamagedCommit(DroverError):
    """A commit contains a line that is not an event."""

    def __init__(self, seq: int, line: int, reason: str) -> None:
        super().__init__(f"Line {line} of the commit with sequence {seq} is not an event: {reason}")
        self.seq = seq
        self.line = line
        self.reason = reason


class NoSuchAccount(DroverError):
    """No account has the given address or id."""

    def __init__(self, who: str) -> None:
        super().__init__(f"There is no account {who}. `drover account list` shows all.")
        self.who = who


class BackupUnreadable(DroverError):
    """A file is not a backup of keys, or it is damaged."""

    def __init__(self, file: Path, line: int) -> None:
        self.file, self.line = file, line
        super().__init__(f"{file} is not a backup of keys, or it is damaged: line {line} cannot be read.")


class ErasureRefused(DroverError):
    """The platform refused to erase something, or could not."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{reason}.")
        self.code = code


class NothingToErase(ErasureRefused):
    """There is no such render."""


class AuditUnreadable(DroverError):
    """The audit cannot be read."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The audit cannot be read: {reason}")
        self.reason = reason


class IdentityRefused(DroverError):
    """The platform refused to change an account or a key."""

    def __init__(self, code: str, reason: str) -> None:
        advice = " Is the api service running?" if code == Code.UNAVAILABLE else ""
        super().__init__(f"{reason}.{advice}")
        self.code = code


class AccountRefused(IdentityRefused):
    """The platform refused to change an account."""


class KeyRefused(IdentityRefused):
    """The platform refused to change an API key."""


class NoSuchKey(KeyRefused):
    """There is no such API key, enrolment code or PC."""


def key_refused(code: str, reason: str) -> KeyRefused:
    return (NoSuchKey if code == Code.NOT_FOUND else KeyRefused)(code, reason)


def sentences(message: str, hint: str | None = None) -> str:
    """Join a message of the platform and its hint, each as a sentence."""
    return " ".join(part if part.endswith((".", "?", "!")) else f"{part}." for part in (message, hint) if part)
