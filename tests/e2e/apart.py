"""Services in processes of their own, on servers that somebody else runs."""

from __future__ import annotations

import base64
import time

from drover.service.api_keys import Role, issue_api_key
from tests.e2e.client import calling
from tests.e2e.process import DroverProcess, free_port, run_command, run_to_the_end
from tests.e2e.up import READY_S, readable, ready

SECRET = "a secret of the end-to-end tests and long enough"
SEALING_KEY = "k1:" + base64.b64encode(b"k" * 32).decode()


class Farm:
    """Processes of `drover serve` on one NATS and one PostgreSQL."""

    ready_s = READY_S

    def __init__(self, nats, postgres, folder):
        self.folder = folder
        self.running = []
        self.environ = {
            "DROVER_NATS_URL": nats.url,
            "DROVER_NATS_SYSTEM_URL": nats.system_url,
            "DROVER_POSTGRES_URL": postgres.dsn,
            "DROVER_JWT_SECRETS": SECRET,
            "DROVER_ANON": "agent",
            "DROVER_SEALING_KEYS": SEALING_KEY,
            "DROVER_IDENTITY_SECRETS": SECRET[::-1],
            "DROVER_LOG_FORMAT": "console",
        }

    async def migrate(self):
        code, said = await run_to_the_end("migrate", output=self.folder / "migrate.log", environ=self.environ)
        assert code == 0, said

    async def add_admin(self):
        """The first account, as an operator adds it; its address and password."""
        email, password = "admin@example.com", "a password of the end-to-end tests"
        add = ("account", "add", email, "--role", "admin", "--password-stdin")
        added = await run_command(*add, environ=self.environ, typed=password)
        assert added.code == 0, added.err
        return email, password

    async def serve(self, *services, name=None, **more):
        port = free_port()
        name = name or "-".join(services)
        environ = self.environ | {"DROVER_HTTP_PORT": str(port), "DROVER_INSTANCE": name} | more
        process = DroverProcess("serve", *services, output=self.folder / f"{name}.log", environ=environ)
        process.url = f"http://127.0.0.1:{port}"
        self.running.append(process)
        await ready(process, process.url, self.ready_s)
        async with self.calling(process) as http:
            await readable(http)
        return process

    def calling(self, process):
        anon, service = (issue_api_key(SECRET, role, now_s=time.time()) for role in (Role.ANON, Role.SERVICE_ROLE))
        return calling(process.url, anon, service)
