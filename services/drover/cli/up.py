"""`drover up`: runs the whole platform on one machine, including NATS and PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from signal import Signals
from typing import Final

import structlog
import uvloop
from rich.console import Console

from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.service_names import SERVICES
from drover.domain.errors import DroverError
from drover.embedded.credentials import Credentials, load_or_create, load_or_create_secrets
from drover.embedded.directory import DataDirectory, folder_of
from drover.embedded.nats import NatsServer, nats_server
from drover.embedded.postgres import postgres_server
from drover.embedded.process import GuardedProcess, Log, StopStep
from drover.hosting.host import FirstAdmin
from drover.platform import serve as platform
from drover.platform.disk_guard import guarding_disk
from drover.platform.settings import load
from drover.platform.unread_settings import warn_of_unread
from drover.postgres.migrate import migrate
from drover.service import logging
from drover.service.config import REQUIRED, Settings
from drover.service.error_reports import report_errors
from drover.service.lifecycle import Component, Phase
from drover.service.metrics import show_disk
from drover.service.other_names import renders
from drover.service.process import tune_garbage_collection
from drover.service.sizes import parse_size
from drover.simulator import analyses, reminders
from drover.simulator.nexrender.demo import demo_nexrender
from drover.web.serve import cannot_listen

HOST: Final = "127.0.0.1"
OWN_SETTINGS: Final = (
    "DROVER_NATS_URL",
    "DROVER_NATS_SYSTEM_URL",
    "DROVER_POSTGRES_URL",
    "DROVER_JWT_SECRETS",
    "DROVER_HTTP_PORT",
)
SIMULATOR_STEPS: Final = (StopStep(Signals.SIGTERM, 5), StopStep(Signals.SIGKILL, 5))

log = structlog.get_logger("drover.up")


class ForeignSettings(DroverError):
    """`drover up` starts its own servers, but the environment names others."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} set, but `drover up` starts its own servers. "
            f"Unset {'it' if len(names) == 1 else 'them'}, or use `drover serve all` with your own servers."
        )


def up(data_dir: Path, port: int, demo: bool) -> None:
    if foreign := [name for name in OWN_SETTINGS if os.environ.get(name)]:
        raise ForeignSettings(foreign)
    environ = {"DROVER_LOG_FORMAT": "console", "DROVER_ANON_MAY_CREATE_JOBS": "1", **os.environ}
    # Before anything starts: a misspelt setting must fail without waiting for two servers.
    checked = load(environ, without=REQUIRED)[Settings]
    logging.configure(checked.log_format, checked.log_level)
    report_errors(checked.sentry_dsn, checked.instance)
    warn_of_unread(os.environ, SERVICES)
    with DataDirectory(data_dir) as directory:
        show_disk("data", directory.path)
        _refuse_a_port_that_cannot_be_opened(port)
        tune_garbage_collection()
        sys.exit(uvloop.run(_up(directory.path, port, demo, environ)))


def _with_servers(
    environ: Mapping[str, str], port: int, nats: str, nats_system: str, postgres: str, jwt_secret: str
) -> dict[str, str]:
    return {**environ, **dict(zip(OWN_SETTINGS, (nats, nats_system, postgres, jwt_secret, str(port)), strict=True))}


def _refuse_a_port_that_cannot_be_opened(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise cannot_listen(HOST, port, error) from error


async def _up(data_dir: Path, port: int, demo: bool, environ: Mapping[str, str]) -> int:
    async with AsyncExitStack() as stack:
        nats = await stack.enter_async_context(nats_server(data_dir))
        postgres = await stack.enter_async_context(postgres_server(data_dir))
        await migrate(postgres.dsn)
        url = f"http://{HOST}:{port}"
        credentials = load_or_create(data_dir, url, nats.url, postgres.dsn)
        own = load_or_create_secrets(data_dir)
        jwt_secret = own.jwt_secret
        # The environment wins: that is how secrets are rotated, with the old one after the new one.
        environ = {
            "DROVER_SEALING_KEYS": own.sealing_key,
            "DROVER_IDENTITY_SECRETS": own.identity_secret,
            "DROVER_CRON_SECRETS": ",".join(filter(None, (environ.get("CRON_SECRET"), credentials.cron_secret))),
            **environ,
        }
        if demo:
            tiers = f"{analyses.TIER}={analyses.TIER_TIMEOUT_S}"
            environ = {"DROVER_CLEANUP_TIER_TIMEOUTS_S": tiers, **reminders.DEMO_SETTINGS, **environ}
        if demo and not renders(environ):
            environ = {**await stack.enter_async_context(demo_nexrender(data_dir)), **environ}
        configuration = load(_with_servers(environ, port, nats.url, nats.system_url, postgres.dsn, jwt_secret))
        extra = [
            # The servers already run, and are stopped after everything else; these components only watch for failures.
            Component("nats-server", Phase.SERVER, nullcontext(), failure=nats.wait_failed),
            Component("postgres", Phase.SERVER, nullcontext(), failure=postgres.wait_failed),
            Component("disk guard", Phase.SERVER, _guarding_disk(nats, data_dir, configuration[Settings].log_max)),
        ]
        if demo:
            extra.append(Component("simulated farm", Phase.EDGE, _simulator(data_dir, url)))
        return await platform.serve(
            configuration,
            SERVICES,
            on_ready=lambda: _welcome(credentials, data_dir, demo),
            extra=extra,
            # The lock on the data directory excludes any other holder, so no wait for the lease after a kill -9.
            lease_token=f"up-{sha256(jwt_secret.encode()).hexdigest()[:16]}",
            first_admin=FirstAdmin(credentials.admin_email, credentials.admin_password),
        )


def _guarding_disk(nats: NatsServer, data_dir: Path, log_max: str | None) -> AbstractAsyncContextManager[None]:
    limit = parse_size(log_max) if log_max else None
    return guarding_disk(nats, folder_of(data_dir, "nats"), nats_url=nats.url, log_max=limit)


@asynccontextmanager
async def _simulator(data_dir: Path, url: str) -> AsyncIterator[None]:
    """Run the simulated farm in a separate process, like real agents. It ends when this process ends."""
    argv = [sys.executable, "-m", "drover.simulator", "--url", url, "--data-dir", str(data_dir)]
    argv += ["--renders", "4", "--users", "12", "--readers", "12"]
    process = await GuardedProcess.spawn(
        argv, steps=SIMULATOR_STEPS, cwd=Path.cwd(), log=Log(data_dir / "simulator.log")
    )
    watch = asyncio.create_task(_tell_of_its_end(process))
    try:
        yield
    finally:
        watch.cancel()
        await process.stop()


async def _tell_of_its_end(process: GuardedProcess) -> None:
    code = await process.wait()
    log.error("simulated_farm_ended", exit_code=code, log=str(process.log.path))


def _tail(data_dir: Path) -> str:
    """Return the command that shows the events, for people to copy. It has `--data-dir` unless the default is used."""
    is_default = data_dir == DATA_DIR_DEFAULT.absolute()
    return "drover events tail" if is_default else f"drover events tail --data-dir {shlex.quote(str(data_dir))}"


def _welcome(credentials: Credentials, data_dir: Path, demo: bool) -> None:
    console = Console()
    console.print()
    console.print(f"  [bold green]Drover is ready[/]   {credentials.url}")
    if console.is_terminal:  # show the password on a terminal only: a file would keep it
        console.print(f"  Sign in as       {credentials.admin_email}")
        console.print(f"  First password   {credentials.admin_password}", highlight=False)
    console.print(f"  Keys, sign-in    {data_dir / 'credentials.json'}")
    console.print(f"  Watch the log    {_tail(data_dir)}", soft_wrap=True)
    if demo:
        console.print(f"  Simulated farm   {data_dir / 'simulator.log'}")
    console.print("  Ctrl-C stops everything\n")
