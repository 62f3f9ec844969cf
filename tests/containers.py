"""The servers of the session as containers of the images that deploy/compose.yaml names: `make test CONTAINERS=1`.

`TEST_NATS_IMAGE` and `TEST_POSTGRES_IMAGE` name other images. The engine must run on this machine: it mounts a
configuration, and tests put faulty lines between a client and its server, on ports of 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import asyncpg
import pytest
import yaml

from drover.embedded.credentials import Secrets
from drover.embedded.nats import server_settings
from drover.embedded.postgres import DATABASE, LOCALE, SETTINGS, USER

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

ROOT: Final = Path(__file__).parents[1]
WANTED: Final = "CONTAINERS"
"""The variable that asks for containers."""
HOST: Final = "127.0.0.1"
START_S: Final = 120.0
"""For a container to answer, after its image is here."""
POLL_S: Final = 0.1
_NATS_CONFIG: Final = "/etc/drover-nats"
_OF_SOCKETS: Final = ("listen_addresses", "port")
"""Settings of the embedded PostgreSQL that are about its socket."""


@dataclass(frozen=True)
class Nats:
    """What tests use of `drover.embedded.nats.NatsServer`, of a server in a container."""

    port: int
    known: Secrets

    @property
    def url(self) -> str:
        return f"nats://drover:{self.known.nats_password}@{HOST}:{self.port}"

    @property
    def system_url(self) -> str:
        return f"nats://sys:{self.known.nats_system_password}@{HOST}:{self.port}"


@dataclass(frozen=True)
class Postgres:
    """What tests use of `drover.embedded.postgres.PostgresServer`, of a server in a container."""

    port: int
    password: str

    @property
    def dsn(self) -> str:
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        return f"postgresql://{USER}:{self.password}@{HOST}:{self.port}/{quote(database)}"


def wanted() -> bool:
    return os.environ.get(WANTED, "") not in ("", "0")


def refuse_without_engine(ping: Callable[[], object] | None = None) -> None:
    """End the run with a sentence if containers are wanted and no Docker engine answers."""
    if not wanted():
        return
    try:
        (ping or _ping)()
    except Exception as error:
        raise pytest.UsageError(
            f"{WANTED}=1 asks for NATS and PostgreSQL in containers, and no Docker engine answers at "
            f"{os.environ.get('DOCKER_HOST', 'its usual socket')}: {error}. Start one, or leave {WANTED} out: then the "
            "tests start their servers themselves."
        ) from None


def _ping() -> None:
    import docker

    docker.from_env(timeout=10).ping()


def image(service: str, variable: str) -> str:
    """Return the image of a service in the compose file, unless the variable names another one."""
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    return os.environ.get(variable) or str(services[service]["image"])


def new_secrets() -> Secrets:
    password = secrets.token_hex
    return Secrets(nats_password=password(), nats_system_password=password(), postgres_password=password())


def nats_settings(known: Secrets) -> dict[str, Any]:
    """The configuration of the embedded server, for a container."""
    return server_settings(known, server_name="drover-test", listen="0.0.0.0:4222", store_dir="/data")


def postgres_command() -> list[str]:
    """Run the server with the settings of the embedded one."""
    command = ["postgres"]
    for name, value in SETTINGS.items():
        if name not in _OF_SOCKETS:
            command += ["-c", f"{name}={value}"]
    return command


@contextmanager
def nats_in_a_container(folder: Path) -> Iterator[Nats]:
    """Run NATS. Its configuration is in this folder, which the engine must be able to read."""
    from testcontainers.core.container import DockerContainer

    known = new_secrets()
    (folder / "nats.conf").write_text(json.dumps(nats_settings(known)))
    folder.chmod(0o755)  # the server may run as a user of its own
    container = DockerContainer(image("nats-1", "TEST_NATS_IMAGE")).with_command(["-c", f"{_NATS_CONFIG}/nats.conf"])
    container.with_volume_mapping(folder, _NATS_CONFIG)
    with _running(container, 4222, _greets) as port:
        yield Nats(port, known)


@contextmanager
def postgres_in_a_container() -> Iterator[Postgres]:
    from testcontainers.core.container import DockerContainer

    password = new_secrets().postgres_password
    container = DockerContainer(image("postgres", "TEST_POSTGRES_IMAGE")).with_command(postgres_command())
    container.with_env("POSTGRES_USER", USER).with_env("POSTGRES_DB", DATABASE)
    container.with_env("POSTGRES_PASSWORD", password).with_env("POSTGRES_INITDB_ARGS", " ".join(LOCALE))
    with _running(container, 5432, lambda port: _accepts(Postgres(port, password))) as port:
        yield Postgres(port, password)


@contextmanager
def _running(container: DockerContainer, port: int, answers: Callable[[int], bool]) -> Iterator[int]:
    """Run a container until it answers on its port, and to the end of the tests. Yields the port on this machine."""
    container.ports[f"{port}/tcp"] = (HOST,)  # any free port, for this machine only
    with container as running:
        server = running.get_wrapped_container()
        deadline = time.monotonic() + START_S
        while (published := _published(server, port)) is None or not answers(published):
            if server.status == "exited" or time.monotonic() > deadline:
                said = server.logs(tail=20).decode(errors="replace")
                raise RuntimeError(f"{container.image} does not answer, it is {server.status}. It said:\n{said}")
            time.sleep(POLL_S)
        yield published


def _published(server: Any, port: int) -> int | None:
    """Return the port on this machine, once the engine has chosen one."""
    server.reload()
    bound = server.ports.get(f"{port}/tcp")
    return int(bound[0]["HostPort"]) if bound else None


def _greets(port: int) -> bool:
    """Whether a NATS server greets on this port. It does once its streams are read."""
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            return connection.recv(5) == b"INFO "
    except OSError:
        return False


def _accepts(server: Postgres) -> bool:
    """Whether PostgreSQL accepts connections. During its first start the image runs one that does not listen here."""

    async def connect() -> None:
        await (await asyncpg.connect(server.dsn, timeout=2)).close()

    try:
        asyncio.run(connect())
    except (OSError, TimeoutError, asyncpg.PostgresError):
        return False
    return True
