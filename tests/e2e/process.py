"""A `drover` command as a user starts it: a process of its own, with its output and all that descends from it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

import psutil

from drover.testing.waiting import eventually
from tests.e2e.fork_server import ForkedProcess, can_fork

DROVER: Final = Path(sys.executable).with_name("drover")
PORTS: Final = range(10_000, 20_000)
"""Below those that the system gives to outgoing connections, and below those that the embedded NATS chooses from."""
PORT_TRIES: Final = 50
END_S: Final = 30.0
COMMAND_S: Final = 60.0
GONE_S: Final = 30.0
"""How long a server may take to notice that its Drover was killed, and to end."""
TAIL_LINES: Final = 40


def free_port() -> int:
    """A port that nobody listens on, and that this process was not given before.

    A test that asks for ten ports before its servers start would else get one of them twice, once in fifty runs.
    """
    for port in islice(_ports, PORT_TRIES):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"none of {PORT_TRIES} ports was free")


def ports_of_this_worker(environ: Mapping[str, str]) -> range:
    """Workers of pytest-xdist share no port: between our look and the start of a server another one could take it."""
    worker = int(environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return PORTS[worker :: int(environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]


def shuffled(ports: range) -> Iterator[int]:
    """Each port once, then all again; in random order, because another run on this machine chooses from them, too."""
    return cycle(SystemRandom().sample(ports, len(ports)))


_ports: Final = shuffled(ports_of_this_worker(os.environ))


def ends_with_us(argv: Sequence[str | Path]) -> list[str | Path]:
    """The command line whose process gets SIGTERM when this one ends, be it by SIGKILL. Only Linux has that."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=TERM", *argv] if setpriv else [*argv]


class DroverProcess:
    """Started when made. `end` it: that also says whether anything of it was left behind."""

    def __init__(
        self,
        *arguments: str | Path,
        output: Path,
        environ: Mapping[str, str] | None = None,
        from_scratch: bool = False,
    ) -> None:
        """`from_scratch`: execute the program as a user does, also where a fork of one that has started would do."""
        self._output = output
        self._descended: set[psutil.Process] = set()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DROVER_")}
        environ = inherited | dict(environ or {})
        with output.open("ab") as file:
            self._process = start_command(arguments, environ, file, from_scratch=from_scratch)
        self.pid: Final = self._process.pid
        self._self: Final = psutil.Process(self.pid)

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def rss_bytes(self) -> int:
        return int(self._self.memory_info().rss)

    def descendants(self) -> set[psutil.Process]:
        """Those that live now, and nothing of which may live on when this has ended."""
        with suppress(psutil.NoSuchProcess):
            self._descended.update(self._self.children(recursive=True))
        return {process for process in self._descended if lives(process)}

    def server(self, program: str) -> psutil.Process:
        """The one child, or grandchild, that is this server; of PostgreSQL the one that is the others' parent."""
        found = {process for process in self.descendants() if _is(process, program)}
        heads = [process for process in found if _parent_of(process) not in found]
        assert len(heads) == 1, f"{heads} are {program}"
        return heads[0]

    def interrupt_as_a_terminal_does(self) -> None:
        """Ctrl-C goes to every process of the job in the foreground."""
        self.descendants()
        os.killpg(self.pid, signal.SIGINT)

    def send(self, number: signal.Signals) -> None:
        self.descendants()
        os.kill(self.pid, number)

    async def ended(self, within_s: float = END_S) -> int:
        """The exit code, once nothing is left of it: neither itself nor anything that it started."""
        self.descendants()
        await self._eventually(lambda: self.exit_code is not None, within_s, "has not ended")
        await self._eventually(lambda: not self.descendants(), GONE_S, "left processes behind")
        assert self.exit_code is not None
        return self.exit_code

    async def end(self) -> None:
        """However the test ended, nothing lives on. What still runs must stop as asked, and well."""
        try:
            if self.exit_code is None:
                self.send(signal.SIGTERM)
                assert await self.ended() == 0, self.tail()
            else:
                await self.ended()
        finally:
            if self.exit_code is None:
                self._process.kill()
                self._process.wait()
            for process in self.descendants():
                with suppress(psutil.NoSuchProcess):
                    process.kill()

    async def _eventually(self, condition: Callable[[], bool], within_s: float, otherwise: str) -> None:
        try:
            await eventually(condition, within_s)
        except TimeoutError:
            left = [f"{process.pid} {' '.join(process.cmdline())}" for process in self.descendants()]
            raise AssertionError(
                f"drover {otherwise} within {within_s:g} s; alive: {left}; it said:\n{self.tail()}"
            ) from None

    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-TAIL_LINES:])


def start_command(
    arguments: Sequence[str | Path],
    environ: Mapping[str, str],
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    folder: Path | None = None,
    typed: IO[bytes] | None = None,
    *,
    from_scratch: bool = False,
) -> ForkedProcess | subprocess.Popen[bytes]:
    """Start `drover` with these arguments, forked if that makes no difference to it."""
    start = ForkedProcess if not from_scratch and can_fork(environ) else _executed
    return start([DROVER, *arguments], environ, output, errors, folder, typed)


def _executed(
    argv: Sequence[str | Path],
    environ: Mapping[str, str],
    output: IO[bytes],
    errors: IO[bytes] | None = None,
    folder: Path | None = None,
    typed: IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ends_with_us(argv),
        stdin=typed or subprocess.DEVNULL,
        stdout=output,
        stderr=errors or subprocess.STDOUT,
        cwd=folder,
        env=environ,
        process_group=0,  # as a shell gives to each of its jobs
    )


@contextmanager
def paused(server: psutil.Process) -> Iterator[None]:
    """Nothing of it runs while the block lasts. To all others it looks alive: ports and sockets stay open."""
    server.suspend()  # first, so that no other begins
    stopped = [server, *server.children(recursive=True)]
    try:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):  # a connection that was just closed
                process.suspend()
        yield
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()


async def run_to_the_end(
    *arguments: str | Path, output: Path, environ: Mapping[str, str] | None = None, from_scratch: bool = False
) -> tuple[int, str]:
    """For commands that end by themselves: exit code and what was written."""
    process = DroverProcess(*arguments, output=output, environ=environ, from_scratch=from_scratch)
    try:
        return await process.ended(), process.output
    finally:
        await process.end()


class Ended(NamedTuple):
    code: int
    out: str
    err: str


async def run_command(
    *arguments: str | Path,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    typed: str = "",
    within_s: float = COMMAND_S,
) -> Ended:
    """Run a command to its end, with what is typed at it. Nothing of ours is in its environment but what is given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DROVER_")}
    with TemporaryFile() as keys, TemporaryFile() as out, TemporaryFile() as err:
        keys.write(typed.encode())
        keys.seek(0)
        process = start_command(arguments, inherited | dict(environ or {}), out, err, folder, keys)
        try:
            await eventually(lambda: process.poll() is not None, within_s)
        finally:
            process.kill()
            code = process.wait()
        for file in (out, err):
            file.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


def lives(process: psutil.Process) -> bool:
    """A zombie is dead; who has not fetched its exit code is no concern of ours. `is_running` sees a reused pid."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _parent_of(process: psutil.Process) -> psutil.Process | None:
    """Of one that has ended, itself: servers of connections come and go, and none of them is the head of a server."""
    try:
        return process.parent()
    except psutil.NoSuchProcess:
        return process


def _is(process: psutil.Process, program: str) -> bool:
    try:
        return Path(process.exe()).name == program
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
