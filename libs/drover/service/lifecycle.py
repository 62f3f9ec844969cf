"""Starts and stops a process: components start in one order and drain in the reverse order, each in bounded time."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import structlog

from drover.domain.errors import DroverError
from drover.service.health import Health

log = structlog.stdlib.get_logger(__name__)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
EXIT_FORCED: Final = 130


class Phase(IntEnum):
    """The order in which components drain: lower numbers first. They start in the reverse order."""

    EDGE = 1
    """Components that take requests from outside. They close first, so that nothing new comes in."""
    REACTOR = 2
    WRITER = 3
    PROJECTOR = 4
    SERVER = 5
    """Components that others depend on: connections, pools, embedded servers. They drain last."""


@dataclass(frozen=True)
class Component:
    """Something that starts and stops. Stopping drains: accepted work is finished."""

    name: str
    phase: Phase
    context: AbstractAsyncContextManager[Any]
    """Starts and stops the component. Entering it returns once the component works; leaving it returns once the
    component has drained."""
    failure: Callable[[], Awaitable[object]] | None = None
    """A function that waits as long as the component works. When it returns or raises, the process drains and exits
    with code 1."""


class _Run:
    """One run of a set of components. It happens in one task, because a context manager must be exited by the task that
    entered it."""

    def __init__(self, health: Health, grace_s: float) -> None:
        self._health = health
        self._grace_s = grace_s
        self._started: list[Component] = []
        self._watches: dict[asyncio.Task[object], str] = {}
        self._stop = asyncio.Event()
        self._starting: asyncio.Task[Any] | None = None
        self.failed = False
        self.refused: DroverError | None = None
        """Why the process could not start, as an error for people: for example a port that is taken or a wrong
        setting."""

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def on_signal(self, number: signal.Signals) -> None:
        if self._stop.is_set():
            log.error("forced_exit", signal=number.name)
            os._exit(EXIT_FORCED)
        log.info("stopping", signal=number.name)
        self._health.draining()
        self._stop.set()
        if self._starting is not None:
            self._starting.cancel()

    async def start(self, components: Iterable[Component]) -> None:
        self._starting = task = asyncio.current_task()
        assert task is not None
        name = ""
        try:
            for component in sorted(components, key=lambda component: -component.phase):
                name = component.name
                await component.context.__aenter__()
                self._started.append(component)
                if component.failure is not None:
                    self._watches[asyncio.ensure_future(_watch(component.failure))] = name
                log.debug("started", component=name)
        except asyncio.CancelledError:
            if not self._stop.is_set():
                raise
            task.uncancel()  # a signal caused this cancellation; draining goes on in this task
        except DroverError as error:
            log.error("start_refused", component=name, error=str(error))
            self.refused = error
            self._stop.set()
        except Exception:
            log.exception("start_failed", component=name)
            self.failed = True
            self._stop.set()
        finally:
            self._starting = None

    async def wait(self) -> None:
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait([stop, *self._watches], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            self._stop.set()
        for watch, name in self._watches.items():
            if watch.done():
                self.failed = True
                log.error("component_failed", component=name, exc_info=watch.exception())

    async def drain(self) -> None:
        self._health.draining()
        for watch in self._watches:
            watch.cancel()
        order = [*reversed(self._started)]  # sorting is stable: within a phase the last one to start stops first
        order.sort(key=lambda component: component.phase)
        for component in order:
            try:
                async with asyncio.timeout(self._grace_s):
                    await component.context.__aexit__(None, None, None)
            except TimeoutError:
                self.failed = True
                log.error("drain_timed_out", component=component.name, grace_s=self._grace_s)
            except Exception:
                self.failed = True
                log.exception("drain_failed", component=component.name)
            else:
                log.debug("stopped", component=component.name)


async def _watch(failure: Callable[[], Awaitable[object]]) -> object:
    return await failure()


async def run(
    components: Iterable[Component],
    health: Health,
    *,
    grace_s: float,
    on_ready: Callable[[], None] | None = None,
) -> int:
    """Start all components and serve until SIGTERM, SIGINT or a failure; then drain, and return the exit code. A second
    signal exits at once.

    A DroverError during the start is raised after the drain, because the caller shows its text and sets the exit code.
    """
    this_run = _Run(health, grace_s)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, this_run.on_signal, number)
    try:
        await this_run.start(components)
        if not this_run.stopping:
            health.started()
            log.info("ready")
            if on_ready is not None:
                on_ready()
        await this_run.wait()
    finally:
        try:
            await this_run.drain()
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
    if this_run.refused is not None:
        raise this_run.refused
    return 1 if this_run.failed else 0
