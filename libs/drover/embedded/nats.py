"""The embedded nats-server: one node that syncs every write before it acknowledges. `eventlog` owns the streams."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from drover.embedded import programs
from drover.embedded.credentials import Secrets, load_or_create_secrets
from drover.embedded.directory import folder_of
from drover.embedded.errors import PortTaken, ServerStartFailed
from drover.embedded.leftover import stop_leftover
from drover.embedded.process import GuardedProcess, StopStep
from drover.embedded.supervision import SupervisedServer, wait_until_ready
from drover.service.private_file import write_private

HOST: Final = "127.0.0.1"
# Below the range of ports for outgoing connections. While the server restarts, a client that keeps dialling a port of
# that range could get the same port as its own, connect to itself, and block the server.
PORTS: Final = range(20_000, 32_000)
PORT_TRIES: Final = 50
START_TRIES: Final = 3  # another process may take a port between our check and the server's bind
START_S: Final = 60.0  # reading back a large store takes a while
PROBE_S: Final = 2.0
STORE_BYTES_MAX: Final = 1024**5
"""The setting `max_file_store`: more than any disk has, so that it never takes effect. At this limit nats-server would
refuse leases, too, and it counts bytes before compression. Its default is 3/4 of the free space, which differs at each
start. `platform/disk_guard.py` watches the disk itself instead."""
PAYLOAD_BYTES_MAX: Final = 8 * 1024 * 1024  # the server warns above this
STOP: Final = (StopStep(signal.SIGINT, 15.0), StopStep(signal.SIGKILL, 5.0))


class NatsServer(SupervisedServer):
    """A running nats-server. Services use `url`; `system_url` is for requests about the server itself (VARZ)."""

    def __init__(self, directory: Path, known: Secrets, *, port: int | None, sync_always: bool) -> None:
        super().__init__("nats-server", directory / "nats.log")
        self.port = port or 0
        self._port_is_fixed = port is not None  # requested, or known to clients since the first start
        self._directory: Final = directory
        self._secrets: Final = known
        self._sync_always: Final = sync_always
        self._config: Final = directory / "nats.conf"
        self._pid_file: Final = directory / "nats.pid"
        self._port_file: Final = directory / "port"

    @property
    def url(self) -> str:
        return f"nats://drover:{self._secrets.nats_password}@{HOST}:{self.port}"

    @property
    def system_url(self) -> str:
        return f"nats://sys:{self._secrets.nats_system_password}@{HOST}:{self.port}"

    async def _launch(self) -> GuardedProcess:
        """Start on the requested port. If none was requested, start on the last one that was used or, if that is taken,
        on any free one."""
        await stop_leftover(self._pid_file, "nats-server", str(self._config), STOP)  # a left-over may hold the port
        for _ in range(START_TRIES):
            if not self._port_is_fixed:
                self.port = self._remembered_port() or _free_port()
            try:
                process = await self._launch_on_port()
            except ServerStartFailed:
                if _is_free(self.port):
                    raise  # not a port problem
                if self._port_is_fixed:
                    raise PortTaken(self.port, "Stop that one, or choose another port.") from None
            else:
                self._port_is_fixed = True
                write_private(self._port_file, f"{self.port}\n".encode())
                return process
        raise PortTaken(self.port, f"So were {START_TRIES - 1} others. Start again.")

    async def _launch_on_port(self) -> GuardedProcess:
        write_private(self._config, json.dumps(self._settings(), indent=2, ensure_ascii=False).encode())
        argv = [str(programs.nats_server()), "-c", str(self._config)]
        process = await GuardedProcess.spawn(argv, steps=STOP, cwd=self._directory, log=self._log)
        await wait_until_ready(process, self._answers, server=self.name, within_s=START_S)
        return process

    def _settings(self) -> dict[str, Any]:
        return {"pid_file": str(self._pid_file)} | server_settings(
            self._secrets,
            server_name=self._server_name,
            listen=f"{HOST}:{self.port}",
            store_dir=str(self._directory),
            sync_always=self._sync_always,
        )

    @property
    def _server_name(self) -> str:
        return f"drover-{self.port}"

    async def _answers(self) -> bool:
        """Whether our server answers on the port. It opens the port only after it has loaded its streams."""
        try:
            async with asyncio.timeout(PROBE_S):
                reader, writer = await asyncio.open_connection(HOST, self.port)
                try:
                    greeting = await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False
        if not greeting.startswith(b"INFO "):
            return False
        info = msgspec.json.decode(greeting.removeprefix(b"INFO "))
        return info.get("server_name") == self._server_name and bool(info.get("jetstream"))

    def _remembered_port(self) -> int | None:
        try:
            port = int(self._port_file.read_text())
        except (OSError, ValueError):
            return None
        return port if port in PORTS and _is_free(port) else None


def server_settings(
    known: Secrets, *, server_name: str, listen: str, store_dir: str, sync_always: bool = True
) -> dict[str, Any]:
    """Return the configuration of a nats-server, wherever it runs: JetStream, an account of Drover and one of the
    system."""
    return {
        "server_name": server_name,
        "listen": listen,
        "max_payload": PAYLOAD_BYTES_MAX,
        "jetstream": {"store_dir": store_dir, "max_file_store": STORE_BYTES_MAX}
        | ({"sync_interval": "always"} if sync_always else {}),
        "accounts": {
            "APP": {
                "jetstream": "enabled",
                "users": [{"user": "drover", "password": known.nats_password}],
            },
            "SYS": {"users": [{"user": "sys", "password": known.nats_system_password}]},
        },
        "system_account": "SYS",
    }


@asynccontextmanager
async def nats_server(
    data_dir: Path, *, port: int | None = None, sync_always: bool = True
) -> AsyncIterator[NatsServer]:
    """Run a nats-server on `<data_dir>/nats`. The caller holds the DataDirectory, so a server that still runs there is
    a left-over and is stopped.

    `sync_always=False`: acknowledge a write before it is on disk, as nats-server does by default. This is for testing
    that we refuse such servers.
    """
    directory = folder_of(data_dir, "nats")
    known = load_or_create_secrets(data_dir)
    async with NatsServer(directory, known, port=port, sync_always=sync_always).running() as server:
        yield server


def _free_port() -> int:
    for _ in range(PORT_TRIES):
        port = secrets.choice(PORTS)
        if _is_free(port):
            return port
    raise PortTaken(port, f"So were {PORT_TRIES - 1} others between {PORTS.start} and {PORTS.stop - 1}. Free some.")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: ignore TIME_WAIT
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True
