"""All services in one process, but each with connections, a port and secrets of its own, as compose gives them."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from uuid import uuid4

from drover.cli.service_names import PARTS, SERVICES
from drover.platform import serve as platform
from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS, load
from drover.postgres.migrate import migrate
from drover.service.api_keys import Role, sign_api_key
from drover.service.config import REQUIRED, Settings
from drover.service.identity_keys import IdentityKeys
from drover.service.secret_files import read_secret_files
from drover.testing.waiting import eventually
from tests.deploy.compose import given_to, set_up
from tests.e2e.client import calling
from tests.e2e.process import free_port
from tools.nats_users import SYSTEM

READY_S = 60.0
EDGES = ("gateway", "cleanup", "reminder", "api")
KEY_S = 3600.0


class Apart:
    def __init__(self, nats, postgres_dsn, folder: Path, **more: str) -> None:
        """`more`: further settings of all services."""
        self._nats = nats
        self._dsn = postgres_dsn
        self._folder = folder
        self.project = folder / "project"
        self.ports = {}
        self._more = more
        self._set_up()

    def _set_up(self):
        """The secrets of a new installation, and what its operator adds: an archive, and a webhook for alerts."""
        secrets = self.project / "secrets"
        secrets.mkdir(parents=True)
        (secrets / "alert_webhook_url").write_text("http://127.0.0.1:9/alerts")
        (secrets / "alert_webhook_secrets").write_text("a" * 40)
        chosen = {
            "NATS_CONFIG": "single",
            "DROVER_ARCHIVE": str(self._folder / "archive"),
            "DROVER_LOG_KEEP": "1MB",
            "DROVER_RENDER_NEXRENDER_URL": "http://127.0.0.1:9",
            "DROVER_RENDER_NAS": str(self._folder),
        }
        (self.project / ".env").write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
        set_up(self.project)

    def settings(self, service):
        """What the container has, but for the places of servers and folders."""
        self.ports[service] = free_port()
        environ = {name: value for name, value in given_to(self.project, service).items() if name.startswith("DROVER_")}
        for name in ("DROVER_NATS_URL_FILE", "DROVER_NATS_SYSTEM_URL_FILE", "DROVER_POSTGRES_URL_FILE"):
            environ.pop(name, None)
        read_secret_files(environ, FIELDS)
        if REGISTRY[service].reads_postgres:
            environ["DROVER_POSTGRES_URL"] = self._dsn
        if service == "render-worker":
            environ |= {"DROVER_RENDER_NAS_GUARD": "folder", "DROVER_RENDER_OUTPUT_DIR": str(self._folder)}
        return load(
            environ
            | {
                "DROVER_NATS_URL": self._nats.url_as(service),
                "DROVER_NATS_SYSTEM_URL": self._nats.url_as(SYSTEM),
                "DROVER_ANON": "agent",  # the phones of these tests have no keys of their own
                "DROVER_ALERT_ALLOW_PRIVATE": "1",
                "DROVER_REMINDER_PARTITIONS": "1",
                "DROVER_HTTP_PORT": str(self.ports[service]),
                "DROVER_INSTANCE": service,
            }
            | self._more
        )

    @asynccontextmanager
    async def running(self, services=(*SERVICES, *PARTS)):
        await migrate(self._dsn)
        ready = []
        tasks = []
        for name in services:
            started = partial(ready.append, name)
            tasks.append(asyncio.create_task(platform.serve(self.settings(name), [name], on_ready=started)))
        try:
            await eventually(lambda: len(ready) == len(tasks) or any(task.done() for task in tasks), READY_S)
            assert not [task.result() for task in tasks if task.done()]
            for name in {*EDGES} & {*services}:
                async with self.calling(name) as http:
                    await eventually(partial(_is_ready, http), READY_S)
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def url(self, service):
        return f"http://127.0.0.1:{self.ports[service]}"

    def calling(self, service):
        anon, office = (self._key(role) for role in (Role.ANON, Role.SERVICE_ROLE))
        return calling(self.url(service), anon, office)

    def _key(self, role):
        """Sign a key as `drover key` does in the container `tools`."""
        keys, now_s = IdentityKeys(self.identity_secrets), time.time()
        return sign_api_key(keys, role, key_id=str(uuid4()), now_s=now_s, expires_s=now_s + KEY_S)

    @cached_property
    def identity_secrets(self):
        environ = {"DROVER_IDENTITY_SECRETS_FILE": given_to(self.project, "tools")["DROVER_IDENTITY_SECRETS_FILE"]}
        read_secret_files(environ, FIELDS)
        return load(environ, without=REQUIRED)[Settings].identity_secrets


async def _is_ready(http):
    """Whether it takes requests: all read models are there."""
    return (await http.get("/readyz")).status == 200
