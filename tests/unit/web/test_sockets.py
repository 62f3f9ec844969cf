"""The registry of open sockets: room, count, farewells."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from drover.service.health import Health
from drover.service.tasks import end
from drover.testing.waiting import eventually
from drover.web.application import SOCKETS, add_socket, create_application
from drover.web.errors import ApiError
from drover.web.route import Socket
from drover.web.sockets import Sockets


class Caller:
    """A session that leaves when it is told to, and does something else before."""

    def __init__(self, before: Callable[[], Awaitable[object]] | None = None) -> None:
        self.told = 0
        self._before = before
        self._over = asyncio.Event()

    async def run(self, socket) -> None:
        await self._over.wait()

    async def leave(self) -> None:
        self.told += 1
        if self._before is not None:
            await self._before()
        self._over.set()


@asynccontextmanager
async def running(sockets: Sockets, *sessions: Caller) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Each in a task of its own, as the edge runs them."""

    async def run(session: Caller) -> None:
        with sockets.opened(session, "/test"):
            await session.run(None)

    tasks = [asyncio.create_task(run(session)) for session in sessions]
    await eventually(lambda: len(sockets) == len(sessions))
    yield tasks
    await end(*tasks)


async def test_everybody_is_told_once_all_at_once_and_nobody_new_is_let_in():
    sockets = Sockets()
    together = asyncio.Barrier(3)  # passes only when all three are being told at the same time
    sessions = [Caller(together.wait) for _ in range(3)]
    async with running(sockets, *sessions) as tasks:
        sockets.check_room()
        await sockets.close_all()
        assert all(task.done() and not task.cancelled() for task in tasks)
    assert [session.told for session in sessions] == [1, 1, 1]
    assert len(sockets) == 0
    with pytest.raises(ApiError) as caught:
        sockets.check_room()
    assert (caught.value.status, "Retry-After" in caught.value.headers) == (503, True)


async def test_one_that_hangs_or_fails_is_cut_and_keeps_nobody():
    async def hang() -> None:
        await asyncio.Event().wait()

    async def fail() -> None:
        raise ValueError("no")

    async def gone() -> None:
        raise ConnectionResetError

    sockets = Sockets()
    sockets.close_s = 0.05
    sessions = [Caller(hang), Caller(fail), Caller(gone), Caller()]
    async with running(sockets, *sessions) as tasks:
        with capture_logs() as logged:
            await sockets.close_all()
        assert [task.cancelled() for task in tasks] == [True, True, True, False]
    assert [session.told for session in sessions] == [1, 1, 1, 1]
    assert [entry["event"] for entry in logged] == ["socket_farewell_failed", "sockets_cut"]
    assert (logged[1]["sockets"], logged[1]["of"]) == (3, 4)


async def test_the_route_that_needs_the_longest_to_say_goodbye_gets_its_time():
    app = create_application(Health(), body_bytes_max=1024)
    for path, close_s in (("/slow", 4.0), ("/fast", 2.0)):
        add_socket(app, path, accept=None, limits=Socket(frame_bytes_max=1, close_s=close_s))
    assert app[SOCKETS].close_s == 4.0


async def test_their_number_has_a_bound():
    sockets = Sockets(sockets_max=1)
    sockets.check_room()
    async with running(sockets, Caller()):
        with pytest.raises(ApiError) as caught:
            sockets.check_room()
        assert caught.value.status == 503
    sockets.check_room()
