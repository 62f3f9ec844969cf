"""Errors of commands that use the platform, each with a sentence that says what to do."""

from __future__ import annotations

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


class AccountRefused(DroverError):
    """The platform refused to change an account."""

    def __init__(self, code: str, reason: str) -> None:
        advice = " Is the api service running?" if code == Code.UNAVAILABLE else ""
        super().__init__(f"{reason}.{advice}")
        self.code = code
