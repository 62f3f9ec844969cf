"""Errors of the data directory and the embedded servers, each with advice."""

from __future__ import annotations

from pathlib import Path

from drover.domain.errors import DroverError


class DataDirectoryBusy(DroverError):
    """Another process holds the data directory."""

    def __init__(self, path: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(
            f"The data directory {path} is in use by {holder}. "
            f"Stop that one first (Ctrl-C in its terminal{f', or kill {pid}' if pid else ''}), "
            f"or choose another directory with --data-dir."
        )
        self.path = path
        self.pid = pid


class DataDirectoryUnusable(DroverError):
    """The data directory cannot be made, read or written by this user."""

    def __init__(self, path: Path, reason: str, advice: str) -> None:
        super().__init__(f"The data directory {path} cannot be used: {reason}. {advice}")
        self.path = path
        self.reason = reason


class ProgramMissing(DroverError):
    """A program that the embedded servers need is not installed."""

    def __init__(self, program: str, advice: str) -> None:
        super().__init__(f"The program {program} was not found. {advice}")
        self.program = program
        self.advice = advice


class PortTaken(DroverError):
    """The requested port is taken, or none of the ports tried was free."""

    def __init__(self, port: int, advice: str) -> None:
        super().__init__(f"Port {port} on 127.0.0.1 is taken by another process. {advice}")
        self.port = port


class ServerStartFailed(DroverError):
    """An embedded server did not start."""

    def __init__(self, server: str, reason: str, log_path: Path, log_tail: str, advice: str = "") -> None:
        log_excerpt = f"It last wrote to {log_path}:\n{log_tail}" if log_tail else f"It wrote nothing to {log_path}."
        super().__init__(" ".join(part for part in (f"{server} did not start: {reason}.", advice, log_excerpt) if part))
        self.server = server
        self.reason = reason
        self.log_path = log_path
        self.log_tail = log_tail


class ServerKeepsDying(DroverError):
    """An embedded server died too often. It is not started again, and a person has to look."""

    def __init__(self, server: str, deaths: int, window_s: float, log_path: Path, log_tail: str) -> None:
        super().__init__(
            f"{server} died or failed to start {deaths} times within {window_s:g} s and is not started again. "
            f"Look at {log_path}, remove the cause and start Drover again. It last wrote:\n{log_tail}"
        )
        self.server = server
        self.deaths = deaths
        self.log_path = log_path
        self.log_tail = log_tail
