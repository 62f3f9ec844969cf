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
from drover.embedded.credentials import Credentials, Secrets, load_or_create, load_or_create_secrets
from drover.embedded.directory import DataDirectory, folder_of
from drover.embedded.nats import NatsServer, nats_server
from drover.embedded.postgres import postgres_server
from drover.embedded.process import GuardedProcess, Log, StopStep
from drover.hosting.host import FirstAdmin, FirstKey
from drover.platform import serve as platform
from drover.platform.disk_guard import guarding_disk
from drover.platform.settings import load
from drover.platform.unread_settings import warn_of_unread
from drover.postgres.migrate import migrate
from drover.service import logging
from drover.service.config import REQUIRED, Settings
from drover.service.error_reports import report_errors
from drover.service.identity_keys import IdentityKeys
from drover.service.lifecycle import Component, Phase
from drover.service.log_file import LogFile
from drover.service.metrics import show_disk
from drover.service.other_names import renders
from drover.service.process import tune_garbage_collection
from drover.service.sizes import parse_size
from drover.service.verified_keys import verified_claims
from drover.web.serve import cannot_listen
from drover.web.tls import Certificate

HOST: Final = "127.0.0.1"
OWN_SETTINGS: Final = (
    "DROVER_NATS_URL",
    "DROVER_NATS_SYSTEM_URL",
    "DROVER_POSTGRES_URL",
    "DROVER_JWT_SECRETS",
    "DROVER_HTTP_PORT",
)
EVIDENCE_FOLDER: Final = "evidence"
"""The folder of the data directory in which pictures of failures are kept."""
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


class FarmLockedOut(DroverError):
    """The simulated farm uses the anon key, which may not report."""

    def __init__(self, settings: Settings) -> None:
        beyond = "" if settings.anon else f", because other machines can reach {settings.http_host}"
        super().__init__(
            f"The simulated farm of --demo uses the anon key, and DROVER_ANON is {settings.anon_level}{beyond}. "
            "Set DROVER_ANON=agent, or start without --demo."
        )


def up(data_dir: Path, port: int, demo: bool, tls_cert: Path | None, tls_key: Path | None) -> None:
    if foreign := [name for name in OWN_SETTINGS if os.environ.get(name)]:
        raise ForeignSettings(foreign)
    environ = {"DROVER_LOG_FORMAT": "console", **os.environ}
    for name, file in (("DROVER_TLS_CERT", tls_cert), ("DROVER_TLS_KEY", tls_key)):
        environ |= {name: str(file.absolute())} if file else {}
    # Before anything starts: a misspelt setting must fail without waiting for two servers.
    checked = load(environ, without=REQUIRED)[Settings]
    if demo and checked.anon_level in ("off", "read"):
        raise FarmLockedOut(checked)
    logging.configure(checked.log_format, checked.log_level)
    report_errors(checked.sentry_dsn, checked.instance)
    warn_of_unread(os.environ, SERVICES)
    url = _url(Certificate.of(checked), port)
    with DataDirectory(data_dir) as directory:
        show_disk("data", directory.path)
        if checked.log_format != "json":
            logging.access_file = LogFile(directory.path / "access.log")
        _refuse_a_port_that_cannot_be_opened(port)
        tune_garbage_collection()
        sys.exit(uvloop.run(_up(directory.path, url, port, demo, environ)))


def _url(certificate: Certificate | None, port: int) -> str:
    """Return the address for credentials.json: one for which the certificate is valid, if there is one."""
    return f"https://{certificate.host}:{port}" if certificate else f"http://{HOST}:{port}"


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


async def _up(data_dir: Path, url: str, port: int, demo: bool, environ: Mapping[str, str]) -> int:
    async with AsyncExitStack() as stack:
        nats = await stack.enter_async_context(nats_server(data_dir))
        postgres = await stack.enter_async_context(postgres_server(data_dir))
        await migrate(postgres.dsn)
        credentials = load_or_create(data_dir, url, nats.url, postgres.dsn)
        own = load_or_create_secrets(data_dir)
        # The environment wins: that is how secrets are rotated, with the old one after the new one.
        environ = {
            "DROVER_SEALING_KEYS": own.sealing_key,
            "DROVER_IDENTITY_SECRETS": own.identity_secret,
            "DROVER_EVIDENCE": str(data_dir / EVIDENCE_FOLDER),
            "DROVER_CRON_SECRETS": ",".join(filter(None, (environ.get("CRON_SECRET"), credentials.cron_secret))),
            **environ,
        }
        if demo:
            environ = await stack.enter_async_context(_demo_settings(data_dir, environ))
        configuration = load(_with_servers(environ, port, nats.url, nats.system_url, postgres.dsn, own.jwt_secret))
        extra = [
            # The servers already run, and are stopped after everything else; these components only watch for failures.
            Component("nats-server", Phase.SERVER, nullcontext(), failure=nats.wait_failed),
            Component("postgres", Phase.SERVER, nullcontext(), failure=postgres.wait_failed),
            Component("disk guard", Phase.SERVER, _guarding_disk(nats, data_dir, configuration[Settings].log_max)),
        ]
        if demo:
            extra.append(
                Component("simulated farm", Phase.EDGE, _simulator(data_dir, url, environ.get("DROVER_TLS_CERT")))
            )
        return await platform.serve(
            configuration,
            SERVICES,
            on_ready=lambda: _welcome(credentials, data_dir, demo),
            extra=extra,
            # Whoever has the lock on the data directory is the only process here. So after a kill -9, the next one need
            # not wait until the old lease expires.
            lease_token=f"up-{sha256((own.jwt_secret or own.identity_secret).encode()).hexdigest()[:16]}",
            first_admin=FirstAdmin(credentials.admin_email, credentials.admin_password),
            first_keys=_first_keys(credentials, own),
        )


@asynccontextmanager
async def _demo_settings(data_dir: Path, environ: Mapping[str, str]) -> AsyncIterator[Mapping[str, str]]:
    """Give the settings of the demo, which those of the user override. Run a simulated nexrender and a simulated
    receiver of reminders, unless the user has their own."""
    # Here, because the simulator imports av, and only the demo needs it.
    from drover.simulator import analyses, reminders
    from drover.simulator.nexrender.demo import demo_nexrender
    from drover.simulator.reminder_receiver import OWN_RECEIVER, demo_receiver

    tiers = f"{analyses.TIER}={analyses.TIER_TIMEOUT_S}"
    environ = {"DROVER_CLEANUP_TIER_TIMEOUTS_S": tiers, **reminders.DEMO_SETTINGS, **environ}
    async with AsyncExitStack() as stack:
        if not any(name.startswith(OWN_RECEIVER) for name in environ):
            environ = {**await stack.enter_async_context(demo_receiver()), **environ}
        if not renders(environ):
            environ = {**await stack.enter_async_context(demo_nexrender(data_dir)), **environ}
        yield environ


def _first_keys(credentials: Credentials, own: Secrets) -> list[FirstKey]:
    """Return the keys of credentials.json, which are recorded, so that they are listed and can be revoked."""
    keys, shared = IdentityKeys([own.identity_secret]), [own.jwt_secret] if own.jwt_secret else []
    return [
        FirstKey("credentials.json", token, known)
        for token in (credentials.anon_key, credentials.service_key)
        if (known := verified_claims(token, keys, shared)) is not None
    ]


def _guarding_disk(nats: NatsServer, data_dir: Path, log_max: str | None) -> AbstractAsyncContextManager[None]:
    limit = parse_size(log_max) if log_max else None
    return guarding_disk(nats, folder_of(data_dir, "nats"), nats_url=nats.url, log_max=limit)


@asynccontextmanager
async def _simulator(data_dir: Path, url: str, certificate: str | None) -> AsyncIterator[None]:
    """Run the simulated farm in a separate process, like real agents. It ends when this process ends. It trusts our own
    certificate, even if nobody else has signed it."""
    trust = ["/usr/bin/env", f"SSL_CERT_FILE={os.environ.get('SSL_CERT_FILE') or certificate}"] if certificate else []
    argv = [*trust, sys.executable, "-m", "drover.simulator", "--url", url, "--data-dir", str(data_dir)]
    argv += ["--http-every", "3", "--jobs", "4", "--renders", "4", "--users", "12", "--readers", "12"]
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
