"""Runs one child process under its guard: starts it, waits for its end, stops it. The servers decide which program it
is."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from drover.embedded import guard
from drover.embedded.errors import ServerStartFailed

SPAWN_S: Final = 10.0  # time-out for the guard to start and to report the server's pid
REAP_S: Final = 5.0  # time-out from the end of the guard's output to its exit
STOP_MARGIN_S: Final = 5.0  # how much longer than all stop steps together we wait before we kill server and guard
POLL_S: Final = 0.005
LOG_BYTES_MAX: Final = 16 * 1024 * 1024  # a longer log is rotated, once, at the next start
LOG_TAIL_LINES: Final = 15
LOG_TAIL_BYTES_MAX: Final = 16 * 1024


class StopStep(NamedTuple):
    """A signal to send, and how long to wait for the end of the process before the next step."""

    signal: signal.Signals
    seconds: float


class GuardedProcess:
    """A server under its guard. Our process holds the write end of the guard's input. When that closes, because we exit
    or crash, the guard stops the server."""

    def __init__(self, guard_process: subprocess.Popen[bytes], steps: Sequence[StopStep], log: Log) -> None:
        self.pid = 0  # of the server; known after spawn
        self.log: Final = log
        self._guard: Final = guard_process
        self._steps: Final = steps
        self._output: Final = asyncio.StreamReader()
        self._transport: asyncio.ReadTransport | None = None
        self._ended: asyncio.Task[int] | None = None

    @classmethod
    async def spawn(
        cls, argv: Sequence[str | Path], *, steps: Sequence[StopStep], cwd: Path, log: Log
    ) -> GuardedProcess:
        with log.opened() as log_file:
            process = cls(_start_guard(argv, steps, cwd, log_file), steps, log)
        await process._connect()
        return process

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._output), self._guard.stdout
        )
        try:
            async with asyncio.timeout(SPAWN_S):
                first_line = await self._output.readline()
        except BaseException as error:
            self._close()  # the guard sees the end of its input and stops the server
            if isinstance(error, TimeoutError):
                reason = f"its guard said nothing for {SPAWN_S:g} s"
                raise ServerStartFailed(self.log.path.stem, reason, self.log.path, self.log.tail()) from error
            raise
        self.pid = int(first_line or b"0")  # empty: the guard could not start the server and is exiting
        self._ended = asyncio.create_task(self._reap(), name=f"reap guard {self._guard.pid}")

    @property
    def guard_pid(self) -> int:
        return self._guard.pid

    @property
    def exit_code(self) -> int | None:
        return self._guard.returncode

    async def wait(self) -> int:
        """Wait for the server's exit code. 128 + n: ended by signal n."""
        assert self._ended is not None, "spawn() makes processes"
        return await asyncio.shield(self._ended)

    async def stop(self, first: signal.Signals | None = None) -> int:
        """Stop the server and return its exit code. The guard sends the signals of its steps in turn. With `first`,
        only that signal is sent instead. If the server has not ended after the time of all steps plus STOP_MARGIN_S, it
        is killed."""
        if self.exit_code is None:
            with suppress(ProcessLookupError):
                if first is not None and self.pid:
                    os.kill(self.pid, first)
                else:
                    self._guard.send_signal(signal.SIGTERM)
        steps_s = sum(step.seconds for step in self._steps)
        try:
            async with asyncio.timeout(steps_s + STOP_MARGIN_S):
                return await self.wait()
        except TimeoutError:
            self._kill()
            return await self.wait()

    def _kill(self) -> None:
        for pid in (self.pid, self._guard.pid):
            with suppress(ProcessLookupError):
                if pid:
                    os.kill(pid, signal.SIGKILL)

    async def _reap(self) -> int:
        while await self._output.read(4096):
            pass
        # The guard has closed its output, so it is about to exit. Poll instead of using a thread, which could hang at
        # exit.
        async with asyncio.timeout(REAP_S):
            while (code := self._guard.poll()) is None:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(POLL_S)
        self._close()
        return code

    def _close(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        if self._transport is not None:
            self._transport.close()


class Log:
    """The log file of a server. `tail` returns the last lines that the server wrote since its last start."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self._started_at = 0

    def opened(self) -> IO[bytes]:
        if self.path.exists() and self.path.stat().st_size > LOG_BYTES_MAX:
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        file = open(self.path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
        self._started_at = file.tell()
        return file

    def tail(self) -> str:
        try:
            with self.path.open("rb") as file:
                file.seek(max(self._started_at, os.fstat(file.fileno()).st_size - LOG_TAIL_BYTES_MAX))
                lines = file.read(LOG_TAIL_BYTES_MAX).decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-LOG_TAIL_LINES:])


def _start_guard(
    argv: Sequence[str | Path], steps: Sequence[StopStep], cwd: Path, log_file: IO[bytes]
) -> subprocess.Popen[bytes]:
    plan = ",".join(f"{step.signal.name.removeprefix('SIG')}:{step.seconds:g}" for step in steps)
    # -I -S: no site-packages and no environment variables, so that it starts in about 20 ms.
    command = [sys.executable, "-I", "-S", guard.__file__, plan, *(str(word) for word in argv)]
    return subprocess.Popen(  # noqa: S603 - no shell, and every word is ours
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log_file,
        cwd=cwd,
        umask=0o077,
        # A session of its own: Ctrl-C in the terminal reaches only Drover, which stops its servers last.
        start_new_session=True,
        # The user's PGDATA or PGPORT must not affect our PostgreSQL.
        env={name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"},
    )
