"""What both embedded servers share: start, stop, and a bounded number of restarts when they die."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Final, NoReturn, Self

import structlog

from drover.domain.backoff import Backoff
from drover.domain.errors import DroverError
from drover.embedded.errors import ServerKeepsDying, ServerStartFailed
from drover.embedded.process import GuardedProcess, Log

DEATHS_MAX: Final = 5  # one more death within DEATHS_WINDOW_S, and supervision gives up
DEATHS_WINDOW_S: Final = 60.0
RESTART: Final = Backoff(first_s=0.1, max_s=1.6)
"""The pause before a restart. It grows with the number of deaths within DEATHS_WINDOW_S."""
READY_POLL_S: Final = 0.02
START_BYTES_MIN: Final = 16 * 1024 * 1024
"""A server that has died is not started again while its disk has less free bytes than this. PostgreSQL ends itself when
there is no room for its write-ahead log, whose segments have this size, so it would die again and again."""
ROOM_EVERY_S: Final = 1.0

log = structlog.get_logger(__name__)


class SupervisedServer(ABC):
    """One server, which a task keeps running. The task belongs to the event loop on which the server was started."""

    def __init__(self, name: str, log_path: Path) -> None:
        self.name: Final = name
        self._log: Final = Log(log_path)
        self._process: GuardedProcess | None = None
        self._watch: asyncio.Task[None] | None = None
        self._change: Final = asyncio.Lock()  # one start or stop at a time
        self._deaths: Final[deque[float]] = deque(maxlen=DEATHS_MAX + 1)
        self._given_up: Final = asyncio.Event()
        self._failure: DroverError | None = None

    @abstractmethod
    async def _launch(self) -> GuardedProcess:
        """Start the server and return when it answers. If that fails, leave no process running."""

    @property
    def log_path(self) -> Path:
        return self._log.path

    @property
    def pid(self) -> int:
        """The pid of the server, not of its guard. It changes with each start; 0 while the server is down."""
        return self._process.pid if self._process else 0

    @property
    def guard_pid(self) -> int:
        return self._process.guard_pid if self._process else 0

    def said(self, text: str) -> bool:
        """Whether the last lines that the server has logged since its start contain this text."""
        return text in self._log.tail()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def start(self) -> None:
        async with self._change:
            if self._watch is None:
                await self._bring_up()
                self._watch = asyncio.create_task(self._supervise(), name=f"supervise {self.name}")

    async def stop(self) -> None:
        """Stop the server cleanly. It stays down until `start`."""
        await self._stop(None)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def kill(self) -> None:
        """Send SIGKILL, as the kernel does when memory is short, and wait for the server's end. Supervision
        then restarts it."""
        process = self._process
        assert process is not None, f"{self.name} is not running"
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()

    async def wait_failed(self) -> NoReturn:
        """Wait until the server has died so often that it is not restarted any more. Then raise the error, so that the
        whole process ends."""
        await self._given_up.wait()
        assert self._failure is not None
        raise self._failure

    async def _stop(self, first: signal.Signals | None) -> None:
        async with self._change:
            watch, self._watch = self._watch, None
            if watch is not None:
                watch.cancel()
                await asyncio.wait((watch,))
            process, self._process = self._process, None
            if process is not None:
                code = await process.stop(first)
                log.info("embedded_server_stopped", server=self.name, pid=process.pid, exit_code=code)

    async def _bring_up(self) -> None:
        began = monotonic()
        self._process = await self._launch()
        took_s = round(monotonic() - began, 3)
        log.info("embedded_server_started", server=self.name, pid=self._process.pid, took_s=took_s)

    async def _supervise(self) -> None:
        try:
            await self._keep_running()
        except ServerKeepsDying as error:
            failure: DroverError = error
        except Exception as error:  # an error of this task itself: report it, or nobody would notice
            failure = ServerStartFailed(self.name, repr(error), self.log_path, self._log.tail())
        self._failure = failure
        self._given_up.set()
        log.error("embedded_server_given_up", server=self.name, error=str(failure))

    async def _keep_running(self) -> NoReturn:
        while True:
            if self._process is not None:
                code = await self._process.wait()
                log.error("embedded_server_died", server=self.name, pid=self._process.pid, exit_code=code)
            self._process = None
            await self._wait_for_room()
            self._deaths.append(monotonic())
            recent = sum(died > monotonic() - DEATHS_WINDOW_S for died in self._deaths)
            if recent > DEATHS_MAX:
                raise ServerKeepsDying(self.name, recent, DEATHS_WINDOW_S, self.log_path, self._log.tail())
            await asyncio.sleep(RESTART.pause_s(recent))
            try:
                await self._bring_up()
            except DroverError as error:
                log.error("embedded_server_restart_failed", server=self.name, error=str(error))

    async def _wait_for_room(self) -> None:
        if self._free_bytes() >= START_BYTES_MIN:
            return
        log.error("embedded_server_waits_for_room", server=self.name, free_bytes=self._free_bytes(), alert=True)
        while self._free_bytes() < START_BYTES_MIN:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(ROOM_EVERY_S)
        self._deaths.clear()  # the server died because the disk was full, so these deaths do not count

    def _free_bytes(self) -> int:
        return shutil.disk_usage(self.log_path.parent).free


async def wait_until_ready(
    process: GuardedProcess, probe: Callable[[], Awaitable[bool]], *, server: str, within_s: float, advice: str = ""
) -> None:
    """Call `probe` until it returns True. If the server dies or does not answer in time, stop it and raise an error
    with its last output."""
    try:
        async with asyncio.timeout(within_s):
            while process.exit_code is None:
                if await probe():
                    return
                await asyncio.sleep(READY_POLL_S)
        reason = f"it ended at once with exit code {process.exit_code}"
    except TimeoutError:
        reason = f"it did not answer within {within_s:g} s"
        await process.stop()
    except BaseException:
        await process.stop()
        raise
    raise ServerStartFailed(server, reason, process.log.path, process.log.tail(), advice)
