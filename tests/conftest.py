"""Real servers for the tests: one NATS and one PostgreSQL for the session, own ones for tests that break them."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import asyncpg
import pytest
import structlog
from hypothesis import HealthCheck, settings

from drover.embedded.nats import NatsServer, nats_server
from drover.embedded.postgres import PostgresServer, postgres_server
from tests.distribution import ByFile

SERVER_START_S: Final = 60.0
STATEMENT_S: Final = 30.0
EXAMPLE_S: Final = 5.0
"""Of Hypothesis, for one example that hangs. Its own 200 ms are soon over where tests run side by side."""

T = TypeVar("T")

settings.register_profile(
    "exploring",
    settings(),  # what else is set for this machine holds, as for CI
    deadline=timedelta(seconds=EXAMPLE_S),
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples in every run, so that none fails by chance beside a change that has nothing to do with it.
settings.register_profile("the same", settings.get_profile("exploring"), derandomize=True, database=None)
settings.load_profile("the same")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Which worker gets which tests, with `-n`. The servers of the session are then those of a worker."""
    return ByFile(config, log)


class BackgroundLoop:
    """An event loop in a thread of its own. It outlives the loops of single tests, as servers of the session must."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="servers of the session", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], within_s: float = SERVER_START_S) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within_s)

    @contextmanager
    def entered(self, context: AbstractAsyncContextManager[T]) -> Iterator[T]:
        value = self.run(context.__aenter__())
        try:
            yield value
        finally:
            self.run(context.__aexit__(None, None, None))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SERVER_START_S)
        self._loop.close()


@pytest.fixture(autouse=True)
def logs_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test sets up for logging ends with it: a logger that was kept would write past those who capture logs."""
    configure = structlog.configure

    def configure_for_now(**options: Any) -> None:
        configure(**{**options, "cache_logger_on_first_use": False})

    monkeypatch.setattr(structlog, "configure", configure_for_now)
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nobody listens. It is taken, so that no server of another test gets it meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture(scope="session")
def background_loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


@pytest.fixture(scope="session")
def nats(background_loop: BackgroundLoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """The NATS of the session. For its addresses only: a test that stops or kills a server takes `own_nats`."""
    with background_loop.entered(nats_server(tmp_path_factory.mktemp("nats"))) as server:
        yield server


@pytest.fixture(scope="session")
def nats_url(nats: NatsServer) -> str:
    return nats.url


@pytest.fixture(scope="session")
def postgres(background_loop: BackgroundLoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """The PostgreSQL of the session. For its addresses only: a test that stops or kills one takes `own_postgres`."""
    with background_loop.entered(postgres_server(tmp_path_factory.mktemp("postgres"))) as server:
        yield server


@pytest.fixture
def postgres_dsn(background_loop: BackgroundLoop, postgres: PostgresServer) -> Iterator[str]:
    """An empty database of this test's own on the PostgreSQL of the session."""
    name = f"test_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(postgres.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    background_loop.run(execute(f"CREATE DATABASE {name} TEMPLATE template0"), STATEMENT_S)
    yield postgres.dsn_of(name)
    background_loop.run(execute(f"DROP DATABASE {name} WITH (FORCE)"), STATEMENT_S)


@pytest.fixture
async def own_nats(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """A NATS that this test alone uses, and may restart, stop or kill."""
    async with nats_server(tmp_path / "own") as server:
        yield server


@pytest.fixture
async def own_postgres(tmp_path: Path) -> AsyncIterator[PostgresServer]:
    """A PostgreSQL that this test alone uses, and may restart, stop or kill."""
    async with postgres_server(tmp_path / "own") as server:
        yield server
