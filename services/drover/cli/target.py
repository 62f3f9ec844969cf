"""Finds the platform and connects to it: by the environment, or by the files in the data directory of `drover up`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from nats.aio.client import Client

from drover.bus.connection import NatsUnreachable, connected
from drover.cli.errors import CredentialsUnreadable, NoPlatform, PostgresUnreachable, ServerDown
from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.stored import read_stored
from drover.embedded.credentials import Credentials, Secrets
from drover.platform.settings import load
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Connection, connect
from drover.service import config
from drover.service.reasons import reason_of

NATS_PORT_DEFAULT: Final = 4222
PROBE_S: Final = 2.0
CONNECT_S: Final = 8.0
NAME: Final = "drover-cli"

ENVIRONMENT: Final = "the environment"
NATS: Final = "DROVER_NATS_URL"
POSTGRES: Final = "DROVER_POSTGRES_URL"
ARCHIVE: Final = "DROVER_ARCHIVE"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses of the platform."""

    source: str
    """Where the addresses come from, for messages to people."""
    nats: str | None
    nats_system_url: str | None
    """The URL of the same NATS server for a user of its system account, who can see whether the server syncs writes."""
    postgres: str | None
    http_host: str
    http_port: int
    https: bool = False
    """Whether the platform serves HTTPS itself."""
    allow_unsynced: bool = False
    archive: str | None = None
    """The archive of the log."""

    @property
    def nats_url(self) -> str:
        """The URL of NATS. Raises ConfigurationError if it is not set."""
        return _needed(self.nats, NATS)

    @property
    def postgres_url(self) -> str:
        """The URL of Postgres. Raises ConfigurationError if it is not set."""
        return _needed(self.postgres, POSTGRES)

    @property
    def embedded(self) -> bool:
        return self.source != ENVIRONMENT

    def advice(self, setting: str) -> str:
        return "is `drover up` running?" if self.embedded else f"check {setting}, and that the server runs."


def _needed(url: str | None, setting: str) -> str:
    if url is None:
        raise config.not_set(setting)
    return url


def find_target(data_dir: Path | None, environ: Mapping[str, str] = os.environ) -> Target:
    """Find the platform: in the given directory, else by the environment, else in the default directory."""
    if data_dir is None and names_servers(environ):
        return _from_environment(environ)
    return _from_directory(data_dir or DATA_DIR_DEFAULT, environ, is_named=data_dir is not None)


def names_servers(environ: Mapping[str, str]) -> bool:
    """Whether the environment names servers: then the default directory `.drover` is ignored, even if it exists."""
    return bool(environ.get(NATS) or environ.get(POSTGRES))


def _from_environment(environ: Mapping[str, str]) -> Target:
    settings = load(environ, without=config.REQUIRED)[config.Settings]
    return Target(
        source=ENVIRONMENT,
        nats=settings.nats_url or None,
        nats_system_url=settings.nats_system_url,
        postgres=settings.postgres_url or None,
        http_host=settings.http_host,
        http_port=settings.http_port,
        https=settings.tls_cert is not None,
        allow_unsynced=settings.allow_unsynced,
        archive=settings.archive,
    )


def _from_directory(data_dir: Path, environ: Mapping[str, str], *, is_named: bool) -> Target:
    path = data_dir / "credentials.json"
    known = read_stored(path, Credentials)
    if known is None:
        raise NoPlatform(data_dir, is_named=is_named)
    secrets = read_stored(data_dir / "secrets.json", Secrets)
    url = urlsplit(known.url)
    try:
        server = urlsplit(known.nats_url).netloc.rpartition("@")[2]
        https = url.scheme == "https"
        # With HTTPS, the URL has the certificate's name, which may be that of a router. The platform runs here.
        host, port = "127.0.0.1" if https else url.hostname or "127.0.0.1", url.port or 80
    except ValueError as error:
        raise CredentialsUnreadable(path, str(error), "The next `drover up` writes it again.") from error
    return Target(
        source=str(path),
        nats=known.nats_url,
        nats_system_url=f"nats://sys:{secrets.nats_system_password}@{server}" if secrets else None,
        postgres=known.postgres_url,
        http_host=host,
        http_port=port,
        https=https,
        archive=environ.get(ARCHIVE) or None,
    )


@asynccontextmanager
async def nats_of(target: Target, url: str | None = None) -> AsyncIterator[Client]:
    """Connect to the platform's NATS. `url`: another URL, for another user. Raises ServerDown within seconds."""
    url = url or target.nats_url
    address = _without_password(url)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(CONNECT_S):
                # A service waits for a server that is still starting; a person wants an answer at once.
                await _probe(address)
                client = await stack.enter_async_context(connected(url, NAME))
        except NatsUnreachable as error:
            raise ServerDown(address, error.reason, target.source, target.advice(NATS)) from error
        except OSError as error:  # TimeoutError is one
            raise ServerDown(address, reason_of(error), target.source, target.advice(NATS)) from error
        yield client


async def _probe(address: str) -> None:
    """Return when one of the servers accepts a connection. If none does, raise the error of the last one."""
    trouble: OSError = ConnectionError("no address")
    for part in address.split(","):
        server = urlsplit(f"//{part.strip()}")
        try:
            async with asyncio.timeout(PROBE_S):
                _, writer = await asyncio.open_connection(server.hostname, server.port or NATS_PORT_DEFAULT)
        except OSError as error:  # TimeoutError is one
            trouble = error
        except ValueError as error:
            trouble = ConnectionError(str(error))
        else:
            writer.close()
            return
    raise trouble


def _without_password(url: str) -> str:
    return ",".join(part.rpartition("@")[2].rpartition("//")[2] for part in url.split(","))


@asynccontextmanager
async def postgres_of(target: Target) -> AsyncIterator[Connection]:
    """Connect to the platform's database. All errors of the connection are raised as PostgresUnreachable."""
    try:
        async with connect(target.postgres_url, NAME) as connection:
            yield connection
    except POSTGRES_AWAY as error:
        raise PostgresUnreachable(reason_of(error), target.source, target.advice(POSTGRES)) from error
