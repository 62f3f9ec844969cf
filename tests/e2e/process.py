"""A `drover` command as a user starts it: a process of its own, with its output and all that descends from it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from drover.testing.waiting import eventually

DROVER: Final = Path(sys.executable).with_name("drover")
PORTS: Final = range(10_000, 20_000)
"""Below those that the system gives to outgoing connections, and below those that the embedded NATS chooses from."""
PORT_TRIES: Final = 50
END_S: Final = 30.0
GONE_S: Final = 8.0
"""How long a server may take to notice that its Drover was killed, and to end."""
TAIL_LINES: Final = 40


def free_port() -> int:
    ports = ports_of_this_worker(os.environ)
    for _ in range(PORT_TRIES):
        port = secrets.choice(ports)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"none of {PORT_TRIES} ports was free")


def ports_of_this_worker(environ: Mapping[str, str]) -> range:
    """Workers of pytest-xdist share no port: between our look and the start of a server another one could take it."""
    worker = int(environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return PORTS[worker :: int(environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]


def ends_with_us(argv: Sequence[str | Path]) -> list[str | Path]:
    """The command line whose process gets SIGTERM when this one ends, be it by SIGKILL. Only Linux has that."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=TERM", *argv] if setpriv else [*argv]


class DroverProcess:
    """Started when made. `end` it: that also says whether anything of it was left behind."""

    def __init__(self, *arguments: str | Path, output: Path, environ: Mapping[str, str] | None = None) -> None:
        self._output = output
        self._descended: set[psutil.Process] = set()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DROVER_")}
        with output.open("ab") as file:
            self._process = subprocess.Popen(
                ends_with_us([DROVER, *arguments]),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=inherited | dict(environ or {}),
                process_group=0,  # as a shell gives to each of its jobs
            )
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
        heads = [process for process in found if process.parent() not in found]
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


@contextmanager
def paused(server: psutil.Process) -> Iterator[None]:
    """Nothing of it runs while the block lasts. To all others it looks alive: ports and sockets stay open."""
    stopped = [server, *server.children(recursive=True)]
    for process in stopped:
        process.suspend()
    try:
        yield
    finally:
        for process in stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()


async def run_to_the_end(
    *arguments: str | Path, output: Path, environ: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """For commands that end by themselves: exit code and what was written."""
    process = DroverProcess(*arguments, output=output, environ=environ)
    try:
        return await process.ended(), process.output
    finally:
        await process.end()


def lives(process: psutil.Process) -> bool:
    """A zombie is dead; who has not fetched its exit code is no concern of ours. `is_running` sees a reused pid."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _is(process: psutil.Process, program: str) -> bool:
    try:
        return Path(process.exe()).name == program
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
