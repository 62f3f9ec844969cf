"""Starts `drover` commands for the tests without the second of CPU time that each would need to import its modules.

A server process has imported them all. For each command it forks a child, which then runs the script `drover` as a new
process would: with arguments, environment, folder, files and process group of its own, and with signals as they are in
a new process. What a start from scratch does differently is tested with `from_scratch=True` (`process.py`).
"""

from __future__ import annotations

import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

ROOT: Final = Path(__file__).parents[2]
IMPORTED: Final = (
    *("drover.cli.group", "drover.cli.up", "drover.cli.serve", "drover.cli.migrate", "drover.cli.doctor"),
    *("drover.cli.account", "drover.cli.status", "drover.cli.events", "drover.cli.projection", "drover.cli.archive"),
)
READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "OPENSSL_", "MALLOC_")
"""Beginnings of variables that have had their effect before a fork."""
REQUEST_BYTES_MAX: Final = 128 * 1024
REPORT_BYTES: Final = 8
FORK_S: Final = 60.0
POLL_S: Final = 0.005
PR_SET_PDEATHSIG: Final = 1


def can_fork(environ: Mapping[str, str]) -> bool:
    """Whether a forked command would do the same as one that is started from scratch."""
    early = [name for name in {*environ, *os.environ} if name.startswith(READ_AT_START)]
    return (
        sys.platform == "linux"
        and "PYTEST_VERSION" in os.environ  # measurements and other programs start their commands as users do
        and all(environ.get(name) == os.environ.get(name) for name in early)
    )


class ForkedProcess:
    """A command that the server has forked, with what the tests need of `subprocess.Popen`."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        environ: Mapping[str, str],
        output: IO[bytes],
        errors: IO[bytes] | None = None,
        folder: Path | None = None,
        typed: IO[bytes] | None = None,
    ) -> None:
        """`errors`: for the error output; by default it is `output`, too. `folder`: by default that of this process.
        `typed`: what it reads; by default nothing."""
        reports, report = os.pipe()
        request = {"argv": [*map(str, argv)], "environ": dict(environ), "folder": str(folder or Path.cwd())}
        try:
            with open(os.devnull, "rb") as nothing:
                files = ((typed or nothing).fileno(), output.fileno(), (errors or output).fileno(), report)
                _server().send(request, files)
        finally:
            os.close(report)
        self._reports = reports
        self.pid: Final = self._report()
        self.returncode: int | None = None
        os.set_blocking(reports, False)

    def poll(self) -> int | None:
        if self.returncode is None:
            with suppress(BlockingIOError):
                self.returncode = self._report()
                os.close(self._reports)
        return self.returncode

    def wait(self) -> int:
        while (code := self.poll()) is None:
            time.sleep(POLL_S)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _report(self) -> int:
        """The pid first, then the exit code."""
        report = os.read(self._reports, REPORT_BYTES)
        assert report, "the server that forks commands has ended"
        return int.from_bytes(report, "little", signed=True)


class _Server:
    """Our end of the server. It ends when ours is closed, however this process ends, and its commands end with it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(FORK_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.fork_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
                process_group=0,  # Ctrl-C in a terminal is for the tests: they end their commands themselves
            )

    def send(self, request: Mapping[str, Any], files: Sequence[int]) -> None:
        data = json.dumps(request).encode()
        assert len(data) < REQUEST_BYTES_MAX
        socket.send_fds(self._socket, [data], files)


@cache
def _server() -> _Server:
    return _Server()


# The other end


def serve(line: socket.socket) -> dict[str, Any]:
    """Fork a child for each request, and report its pid and its end. Returns in the child only, with its request."""
    children: dict[int, int] = {}
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if woken in ready:
                os.read(woken, 4096)
                _report_ends(children)
            if line.fileno() not in ready:
                continue
            data, files, _, _ = socket.recv_fds(line, REQUEST_BYTES_MAX, 4)
            if not data:
                raise SystemExit(0)
            *standard, report = files
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number, file in enumerate(standard):
                    os.dup2(file, number)
                return json.loads(data)  # type: ignore[no-any-return]
            children[pid] = report
            for file in standard:
                os.close(file)
            with suppress(OSError):  # it has done so itself, or has already ended
                os.setpgid(pid, pid)
            _tell(report, pid)


def _report_ends(children: dict[int, int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        report = children.pop(pid)
        _tell(report, os.waitstatus_to_exitcode(status))
        os.close(report)


def _tell(report: int, number: int) -> None:
    with suppress(BrokenPipeError):  # the one who asked has ended
        os.write(report, number.to_bytes(REPORT_BYTES, "little", signed=True))


def main() -> None:
    import ctypes
    import gc
    import importlib

    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that collections in a child do not copy the memory that it shares with us
    parent = os.getpid()
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    script, *arguments = request["argv"]
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
