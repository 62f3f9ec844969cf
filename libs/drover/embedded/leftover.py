"""Stops servers that were left behind when both Drover and their guard were killed. They are found by their pid
file."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from drover.embedded.process import StopStep

POLL_S: Final = 0.02
PS_S: Final = 5.0
PROC: Final = Path("/proc")

log = structlog.get_logger(__name__)


async def stop_leftover(pid_file: Path, program: str, argument: str, steps: Sequence[StopStep]) -> None:
    """Stop the process whose pid is in `pid_file`, if it runs `program` and has `argument` (the path of our data) on
    its command line."""
    pid = _read_pid(pid_file)
    if pid is None:
        return
    if not await is_running(pid, program, argument):
        _forget_stranger(pid_file, pid)
        return
    log.warning("embedded_leftover_found", program=program, pid=pid)
    with _end_of(pid) as has_ended:
        for step in steps:
            with suppress(ProcessLookupError):
                os.kill(pid, step.signal)
            with suppress(TimeoutError):
                async with asyncio.timeout(step.seconds):
                    while not has_ended():  # noqa: ASYNC110 - no event tells of the end of a process that is not our child
                        await asyncio.sleep(POLL_S)
                log.info("embedded_leftover_stopped", program=program, pid=pid, signal=step.signal.name)
                return
    # If not even SIGKILL helped, the start that follows will fail with the server's own message.


async def is_running(pid: int, program: str, argument: str) -> bool:
    """Whether the process `pid` is this program with this argument. A pid alone proves nothing, because pids are
    reused."""
    if PROC.joinpath("self").exists():
        try:
            words = PROC.joinpath(str(pid), "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return False
        return Path(words[0]).name == program and argument in words
    ps = await asyncio.create_subprocess_exec(
        "ps", "-ww", "-o", "command=", "-p", str(pid), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PS_S):
        output, _ = await ps.communicate()
    return program.encode() in output and argument.encode() in output


async def stop_stragglers(program: str, directory: Path, steps: Sequence[StopStep]) -> None:
    """Stop the processes of a program that still run in a directory after their main process died. PostgreSQL's
    backends then exit by themselves, but not while they compute. No server can start before they have ended."""
    for step in steps:
        for pid in (stragglers := _at_work(program, directory)):
            with suppress(ProcessLookupError):
                os.kill(pid, step.signal)
        if stragglers:
            log.warning("embedded_stragglers_found", program=program, pids=stragglers, signal=step.signal.name)
        with suppress(TimeoutError):
            async with asyncio.timeout(step.seconds):
                while _at_work(program, directory):  # noqa: ASYNC110 - no event tells, as in `stop_leftover`
                    await asyncio.sleep(POLL_S)
            return


@contextmanager
def _end_of(pid: int) -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether the process has ended with all its threads, so that its port and files are
    free.

    On Linux this uses a pidfd. /proc would show the end too early: a process loses its memory before it closes its
    files.
    """
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, not allowed, or the process has just ended
        yield lambda: not _exists(pid)
        return
    poller = select.poll()  # not select(), which fails with descriptors above 1,023
    poller.register(handle, select.POLLIN)
    try:
        yield lambda: bool(poller.poll(0))
    finally:
        os.close(handle)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it exists, but belongs to another user
    return True


def _forget_stranger(pid_file: Path, pid: int) -> None:
    """Remove a pid file whose pid now belongs to another program. PostgreSQL would take that program for a running
    server and not start."""
    if _exists(pid):  # if no process has this pid, the server itself ignores the file
        pid_file.unlink(missing_ok=True)
        log.info("embedded_stale_pid_file_removed", path=str(pid_file), pid=pid)


def _at_work(program: str, directory: Path) -> list[int]:
    found = []
    for process in PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or we may not inspect it
            if (process / "cwd").readlink() == directory and (process / "exe").readlink().name == program:
                found.append(int(process.name))
    return found


def _read_pid(pid_file: Path) -> int | None:
    try:
        first = pid_file.read_text().split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(first) if first.isdigit() else None
