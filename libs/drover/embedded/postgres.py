"""The embedded PostgreSQL, reached by a unix socket only. `drover.postgres` owns schemas and pools."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import asyncpg

from drover.embedded import programs
from drover.embedded.account import Account, account_for, as_account, give
from drover.embedded.credentials import load_or_create_secrets
from drover.embedded.directory import folder_of
from drover.embedded.errors import DataDirectoryUnusable, ServerStartFailed
from drover.embedded.leftover import stop_leftover, stop_stragglers
from drover.embedded.process import GuardedProcess, Log, StopStep
from drover.embedded.supervision import SupervisedServer, wait_until_ready
from drover.service.private_file import sync_directory, write_private

DATABASE: Final = "drover"
USER: Final = "drover"
INIT_S: Final = 120.0
START_S: Final = 120.0  # after a crash it first replays its write-ahead log
CONNECT_S: Final = 10.0
STOP: Final = (StopStep(signal.SIGINT, 20.0), StopStep(signal.SIGQUIT, 5.0), StopStep(signal.SIGKILL, 5.0))
STRAGGLERS_STOP: Final = (StopStep(signal.SIGQUIT, 5.0), StopStep(signal.SIGKILL, 5.0))
INIT_STOP: Final = (StopStep(signal.SIGINT, 2.0), StopStep(signal.SIGKILL, 2.0))
SOCKET_PATH_BYTES_MAX: Final = 107
SOCKET_NAME: Final = ".s.PGSQL.5432"

# The built-in provider sorts the same on every machine, whatever its C library.
LOCALE: Final = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
"""Options of initdb."""
SETTINGS: Final = {
    "listen_addresses": "",
    "port": "5432",  # only a part of the socket's file name
    "shared_buffers": "128MB",
    "max_connections": "100",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "jit": "off",  # compiling short queries costs more than it saves
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",  # its standard error is the log file
    "log_line_prefix": "%m [%p] ",
}


class PostgresServer(SupervisedServer):
    """A running PostgreSQL with the database `drover`."""

    def __init__(self, directory: Path, password: str) -> None:
        super().__init__("PostgreSQL", directory / "postgres.log")
        self._directory: Final = directory
        self._password: Final = password
        self._data: Final = directory / "data"
        self._account: Account | None = None
        self._socket_directory = directory / "run"

    @property
    def dsn(self) -> str:
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        host = quote(str(self._socket_directory), safe="")
        return f"postgresql://{USER}:{self._password}@/{quote(database)}?host={host}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[PostgresServer]:
        await self._prepare()
        try:
            async with super().running():
                await self._ensure_database()
                yield self
        finally:
            if self._socket_directory.parent != self._directory:
                shutil.rmtree(self._socket_directory, ignore_errors=True)

    async def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Restart the server. `immediate`: like a crash, without cleanup, so that the next start replays the
        write-ahead log."""
        await self._stop(signal.SIGQUIT if mode == "immediate" else None)
        await self.start()

    async def _prepare(self) -> None:
        self._account = account_for(self._data)
        if self._data.exists():
            self._check_version()
            if self._account is not None and self._data.stat().st_uid != self._account.uid:
                give(self._data, self._account)
        else:
            await self._initialise()
        self._socket_directory = socket_directory(self._directory, self._account)

    def _check_version(self) -> None:
        file = self._data / "PG_VERSION"
        version = file.read_text().strip() if file.exists() else "(no PG_VERSION in it)"
        if version != programs.POSTGRES_MAJOR:
            raise DataDirectoryUnusable(
                self._data,
                f"it was made by PostgreSQL {version}, but this is {programs.POSTGRES_MAJOR}",
                f"Its tables are derived from the log: move {self._directory} away, and they are rebuilt.",
            )

    async def _initialise(self) -> None:
        """Create the database cluster: run initdb in a temporary folder, and give the folder its final name once all of
        it is on disk."""
        unfinished = self._directory / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        give(unfinished, self._account)
        password_file = self._directory / "password.initdb"
        write_private(password_file, self._password.encode() + b"\n")
        give(password_file, self._account)
        initdb: list[str | Path] = [
            programs.postgres("initdb"),
            f"--pgdata={unfinished}",
            f"--username={USER}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            *LOCALE,
        ]
        log = Log(self._directory / "initdb.log")
        try:
            process = await GuardedProcess.spawn(
                as_account(initdb, self._account), steps=INIT_STOP, cwd=self._directory, log=log
            )
            try:
                async with asyncio.timeout(INIT_S):
                    code = await process.wait()
            except BaseException:
                await process.stop()
                raise
        except TimeoutError as error:
            raise ServerStartFailed("initdb", f"not done within {INIT_S:g} s", log.path, log.tail()) from error
        finally:
            password_file.unlink(missing_ok=True)
        if code != 0:
            raise ServerStartFailed("initdb", f"exit code {code}", log.path, log.tail())
        unfinished.rename(self._data)
        sync_directory(self._directory)

    async def _launch(self) -> GuardedProcess:
        await stop_leftover(self._data / "postmaster.pid", "postgres", str(self._data), STOP)
        await stop_stragglers("postgres", self._data, STRAGGLERS_STOP)
        settings = SETTINGS | {"unix_socket_directories": str(self._socket_directory)}
        argv: list[str | Path] = [programs.postgres("postgres"), "-D", self._data]
        for name, value in settings.items():
            argv += ["-c", f"{name}={value}"]
        process = await GuardedProcess.spawn(
            as_account(argv, self._account), steps=STOP, cwd=self._directory, log=self._log
        )

        async def ready() -> bool:
            return _says_ready(self._data / "postmaster.pid", process.pid)

        await wait_until_ready(process, ready, server=self.name, within_s=START_S)
        return process

    async def _ensure_database(self) -> None:
        try:
            connection = await asyncpg.connect(self.dsn_of("postgres"), timeout=CONNECT_S)
        except asyncpg.InvalidPasswordError as error:
            raise DataDirectoryUnusable(
                self._data,
                "it does not accept the password in secrets.json",
                f"Restore secrets.json from a backup; or move {self._directory} away: its tables are rebuilt.",
            ) from error
        try:
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
                await connection.execute(f'CREATE DATABASE "{DATABASE}" TEMPLATE template0', timeout=START_S)
        finally:
            await connection.close(timeout=CONNECT_S)


@asynccontextmanager
async def postgres_server(data_dir: Path) -> AsyncIterator[PostgresServer]:
    """Run PostgreSQL on `<data_dir>/postgres`. The caller holds the DataDirectory, so a server that still runs there is
    a left-over and is stopped."""
    directory = folder_of(data_dir, "postgres")
    async with PostgresServer(directory, load_or_create_secrets(data_dir).postgres_password).running() as server:
        yield server


def socket_directory(directory: Path, account: Account | None) -> Path:
    """Return a private folder for the socket: beside the data or, if that path is too long for a socket, in the folder
    for temporary files.

    In the latter case its name is stored, so that a restart after a crash uses the same folder again.
    """
    beside = directory / "run"
    if _fits(beside):
        beside.mkdir(mode=0o700, exist_ok=True)
        give(beside, account)
        return beside
    note = directory / "socket-directory"
    if note.exists() and _is_private(remembered := Path(note.read_text().strip()), account):
        return remembered
    places = (Path(tempfile.gettempdir()), Path("/tmp"))  # noqa: S108 - mkdtemp makes a private folder in it
    temporary = next((place for place in places if _fits(place / "drover-12345678")), None)
    if temporary is None:
        raise DataDirectoryUnusable(directory, "its path is too long for a unix socket", "Choose a shorter --data-dir.")
    made = Path(tempfile.mkdtemp(prefix="drover-", dir=temporary))
    give(made, account)
    write_private(note, str(made).encode())
    return made


def _fits(directory: Path) -> bool:
    return len(bytes(directory / SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX


def _is_private(path: Path, account: Account | None) -> bool:
    """Whether this is still our private folder, which nobody has replaced: a folder with our owner and mode 700."""
    try:
        status = path.lstat()
    except OSError:
        return False
    owner = account.uid if account else os.geteuid()
    return stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700 and status.st_uid == owner


def _says_ready(pid_file: Path, pid: int) -> bool:
    """Whether postmaster.pid has the pid in line 1 and `ready` in line 8, as pg_ctl checks it."""
    try:
        lines = pid_file.read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
