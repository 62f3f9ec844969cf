"""Real servers for the tests: one NATS and one PostgreSQL for the session, own ones for tests that break them.

With `make test CONTAINERS=1` those of the session are containers (`tests.containers`). Own ones never are: tests stop,
pause and kill their processes.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
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
from tests import containers
from tests.distribution import ByFile
from tests.interrupts import heed_interrupts
from tests.memory_folder import folder_in_memory
from tests.postgres_template import TEMPLATE

SERVER_START_S: Final = 150.0
"""For one that hangs. Longer than platforms are given to become ready, so that they can say what they wait for."""
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


IN_MEMORY: Final = pytest.StashKey[Path]()


@pytest.hookimpl(tryfirst=True)  # before the folder for temporary files is chosen
def pytest_configure(config: pytest.Config) -> None:
    heed_interrupts()
    containers.refuse_without_engine()
    if config.option.basetemp is None and (folder := folder_in_memory(os.environ)) is not None:
        config.stash[IN_MEMORY] = config.option.basetemp = folder


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"files of the tests: {config.stash[IN_MEMORY]}, in memory" if IN_MEMORY in config.stash else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """If a test failed, its files stay, until the next run."""
    if exitstatus != pytest.ExitCode.OK and IN_MEMORY in session.config.stash:
        del session.config.stash[IN_MEMORY]


def pytest_unconfigure(config: pytest.Config) -> None:
    if IN_MEMORY in config.stash:
        shutil.rmtree(config.stash[IN_MEMORY], ignore_errors=True)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Which worker gets which tests, with `-n`. The servers of the session are then those of a worker."""
    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking at the collected tests, which live as long as the run.

    One look at all of them took half a second, and all looks together a fifth of the tests' CPU time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let workers report tests that log text which is not UTF-8: xdist cannot send it, and would end the whole run."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report


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


@pytest.fixture(autouse=True)
def priority_as_before() -> Iterator[None]:
    """A process cannot raise its priority again: all later tests of this worker would be slower, servers included."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    yield
    assert os.getpriority(os.PRIO_PROCESS, 0) == before, "a test must not lower the priority of the process it runs in"


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nobody listens. It is taken, so that no server of another test gets it meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture(scope="session", autouse=True)
def postgres_template(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One for all workers of the run."""
    own = tmp_path_factory.getbasetemp()
    TEMPLATE.folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "postgres-template"


@pytest.fixture(scope="session")
def background_loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


@pytest.fixture(scope="session")
def embedded_nats(background_loop: BackgroundLoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with background_loop.entered(nats_server(tmp_path_factory.mktemp("nats"))) as server:
        yield server


@pytest.fixture(scope="session")
def nats(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NatsServer | containers.Nats]:
    """The NATS of the session. For its addresses only: a test that stops or kills a server takes `own_nats`."""
    if containers.wanted():
        with containers.nats_in_a_container(tmp_path_factory.mktemp("nats")) as server:
            yield server
    else:
        yield request.getfixturevalue("embedded_nats")


@pytest.fixture(scope="session")
def nats_url(nats: NatsServer | containers.Nats) -> str:
    return nats.url


@pytest.fixture(scope="session")
def embedded_postgres(
    background_loop: BackgroundLoop, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PostgresServer]:
    TEMPLATE.copy_to(folder := tmp_path_factory.mktemp("postgres") / "data")
    with background_loop.entered(postgres_server(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[PostgresServer | containers.Postgres]:
    """The PostgreSQL of the session. For its addresses only: a test that stops or kills one takes `own_postgres`."""
    if containers.wanted():
        with containers.postgres_in_a_container() as server:
            yield server
    else:
        yield request.getfixturevalue("embedded_postgres")


@pytest.fixture
def postgres_dsn(background_loop: BackgroundLoop, postgres: PostgresServer | containers.Postgres) -> Iterator[str]:
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
    TEMPLATE.copy_to(folder := tmp_path / "own-postgres")
    async with postgres_server(folder) as server:
        yield server
