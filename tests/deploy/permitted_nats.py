"""A nats-server with the configuration of `deploy/nats`: its users, its TLS. Paths, port and passwords are ours."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from drover.embedded import programs
from drover.embedded.process import GuardedProcess, Log, StopStep
from drover.testing.waiting import eventually
from tests.e2e.process import free_port
from tools.nats_users import SYSTEM, USERS, password_of

DEPLOY = Path(__file__).parents[2] / "deploy"
STOP = (StopStep(signal.SIGTERM, 10.0), StopStep(signal.SIGKILL, 5.0))
START_S = 60.0


class PermittedNats:
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._log = Log(folder / "nats.log")
        self.folder = folder
        self.certificates = folder / "tls"
        self.conf = folder / "conf"
        shutil.copytree(DEPLOY / "nats", self.conf)
        _make_certificates(folder)
        for file in self.conf.glob("*.conf"):
            text = file.read_text().replace("/etc/drover-nats/tls", str(folder / "tls" / "nats"))
            text = text.replace('"/data"', f'"{folder / "data"}"').replace("0.0.0.0:4222", f"127.0.0.1:{self.port}")
            file.write_text(text.replace('http: "127.0.0.1:8222"\n', ""))
        (folder / "secrets").mkdir()
        passwords = "".join(f'{password_of(user)}: "pw-{user}"\n' for user in (*USERS, SYSTEM))
        (folder / "secrets" / "passwords.conf").write_text(passwords)

    def url_as(self, user: str) -> str:
        return f"tls://{user}:pw-{user}@localhost:{self.port}"

    def log(self) -> str:
        return self._log.path.read_text(errors="replace")

    def violations(self) -> list[str]:
        """What it has refused, in its own words."""
        return [line for line in self.log().splitlines() if "Violation" in line]

    def checks(self, name: str) -> subprocess.CompletedProcess[str]:
        """What `nats-server -t` says to one of the files."""
        argv = [str(programs.nats_server()), "-t", "-c", str(self.conf / name)]
        environ = os.environ | {"NATS_NAME": "n1"}
        return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[PermittedNats]:
        argv = ["/usr/bin/env", "NATS_NAME=n1", str(programs.nats_server()), "-c", str(self.conf / "single.conf")]
        process = await GuardedProcess.spawn(argv, steps=STOP, cwd=self.folder, log=self._log)
        try:
            await eventually(self._listens, START_S)
            yield self
        finally:
            await process.stop()

    async def _listens(self) -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.close()
            return True
        return False


def _make_certificates(folder: Path) -> None:
    script = folder / "make-certificates.sh"
    shutil.copy(DEPLOY / script.name, script)
    subprocess.run([script], check=True, capture_output=True)
