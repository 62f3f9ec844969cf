"""Runs any set of services in one process on one HTTP port. Each service is described in its own module `app`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, nullcontext
from functools import partial
from typing import Any, Final

import structlog
from aiohttp import web
from nats.aio.client import Client

from drover.archive.retention import parse_keep
from drover.archiver.settings import ArchiverSettings
from drover.bus.connection import connected, wait_closed
from drover.bus.metrics import NATS_CONNECTED
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.eventlog.reactor_switch import contexts_with_reactors_off
from drover.hosting.host import FirstAdmin, FirstKey, Host
from drover.hosting.limited_callers import LimitedCallers
from drover.hosting.service import add_unlisted
from drover.platform.durability import check_durability, watching_durability
from drover.platform.openapi import openapi_document
from drover.platform.registry import REGISTRY
from drover.postgres import watch
from drover.postgres.pool import open_pool
from drover.reminder.settings import ReminderSettings
from drover.service.config import Configuration, ConfigurationError, Settings
from drover.service.health import Health
from drover.service.lifecycle import Component, Phase, run
from drover.service.metrics import show_process
from drover.service.sizes import parse_size
from drover.service.spans import exporting_spans
from drover.web.access_log import AccessLog
from drover.web.application import ANY, add_handlers, add_route, create_application, nothing_here
from drover.web.callers import Callers
from drover.web.cors import Cors
from drover.web.serve import serve as serve_http
from drover.web.tls import Certificate
from drover.writer.nats_writer import patiently, prepare
from drover.writer.writer import Writer

NO_ARCHIVE: Final = (
    "DROVER_LOG_KEEP is set, but DROVER_ARCHIVE is not: commits that leave NATS must be kept somewhere. Set "
    "DROVER_ARCHIVE to a folder or to s3://bucket/prefix, or set DROVER_LOG_KEEP=all."
)
READABLE: Final = (
    "Keys, tokens and passwords from these addresses can be read on the network. Use HTTPS as soon as you can, then "
    "unset DROVER_PLAIN_HTTP_FROM."
)

log = structlog.get_logger("drover.serve")


def compose(host: Host, health: Health) -> tuple[web.Application, list[Component]]:
    """Build the HTTP application and the components of all services that this process runs."""
    settings = host.settings
    access_log = AccessLog(Callers.of(settings)) if settings.access_log else None
    app = create_application(
        health,
        body_bytes_max=settings.body_bytes_max,
        limits=host.limits,
        access_log=access_log,
        audit=host.audit,
        cors=Cors.of(settings),
    )
    told = [service.tells for name, service in REGISTRY.items() if name in host.services and service.tells]
    if told:
        host.limits.tell = LimitedCallers(host.bus, host.partitions[told[0]][0]).report
    components: list[Component] = []
    writers: list[Writer[Any]] = []
    for name, service in REGISTRY.items():
        if name not in host.services:
            continue
        assembly = service.assemble(host)
        missing = {type(one) for one in assembly.handlers} - {*service.handlers}
        assert not missing, f"the Service {name} does not declare {missing}"
        add_handlers(app, assembly.handlers, assembly.access)
        add_unlisted(app, assembly.unlisted, assembly.access)
        components += assembly.components
        host.ready |= assembly.ready
        writers += assembly.writers
    for check, why in host.ready.items():
        health.add_ready(check, why)
    takes_requests = any(REGISTRY[name].takes_requests for name in host.services)
    for writer in writers:
        # A stuck writer must not make the routes of its process unready.
        add = health.add_degraded if takes_requests else health.add_ready
        add(f"writer of {writer.partition}", partial(_why_refusing, writer))
        why_not_loaded = _why_not_loaded_yet if takes_requests else _why_not_at_the_end
        health.add_ready(f"state of {writer.partition}", partial(why_not_loaded, writer))
    if "api" not in host.services:
        add_route(app, ANY, "/", nothing_here)
    return app, [*host.components, *components]


def _why_refusing(writer: Writer[Any]) -> str | None:
    return str(refusal) if (refusal := writer.refusal()) else None


def _why_not_at_the_end(writer: Writer[Any]) -> str | None:
    """Return why this process could not lead at once; None if it could. A roll-out stops the next old process only
    after that."""
    return writer.why_not_ready()


def _why_not_loaded_yet(writer: Writer[Any]) -> str | None:
    """Return why this process could not lead at once, but only until its writer has loaded its state. Later, and while
    the writer refuses to lead, return None, because the routes of the process must stay available."""
    return None if writer.loaded.is_set() or writer.refusal() else writer.why_not_ready()


async def serve(
    configuration: Configuration,
    services: Sequence[str],
    *,
    on_ready: Callable[[], None] | None = None,
    extra: Sequence[Component] = (),
    lease_token: str | None = None,
    first_admin: FirstAdmin | None = None,
    first_keys: Sequence[FirstKey] = (),
) -> int:
    """Run these services and components until a signal or an error stops them. Returns the exit code."""
    settings = configuration[Settings]
    keep = parse_keep(configuration[ArchiverSettings].log_keep)
    if not keep.all and settings.archive is None:
        raise ConfigurationError((NO_ARCHIVE,))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(
            exporting_spans(settings.otlp_endpoint, settings.trace_ratio, settings.instance, services)
        )
        client = await stack.enter_async_context(connected(settings.nats_url, settings.instance))
        await check_durability(settings)
        outside = all(REGISTRY[name].is_outside for name in services)
        partitions = {} if outside else await _prepare(client, configuration, purges=not keep.all)
        contexts = {one for name in services for one in REGISTRY[name].reacts_to} if outside else CONTEXTS
        pool = await stack.enter_async_context(
            open_pool(settings.postgres_url, settings.instance, settings.postgres_connections_max)
        )
        host = Host(
            configuration,
            client,
            pool,
            services=services,
            partitions=partitions,
            reactors_off=await patiently(partial(contexts_with_reactors_off, client, contexts, outside=outside)),
            lease_token=lease_token,
            first_admin=first_admin,
            first_keys=first_keys,
            document=openapi_document,
        )
        health = Health()
        health.add_ready("nats", lambda: None if client.is_connected else "NATS is not connected.")
        app, components = compose(host, health)
        show_process(health, services)
        NATS_CONNECTED.set_function(lambda: float(client.is_connected))
        components += _servers(host)
        if "api" in services:
            # It fills the bucket of keys when it starts. Without this, the first requests of a new farm would be 503.
            components.append(Component("known keys", Phase.EDGE, host.keys.known()))
        # Last, so that the port opens when everything behind it works.
        components += _listener(app, settings)
        log.info("starting", services=list(services), instance=settings.instance)
        if settings.plain_http_from:
            log.warning("plain_http_is_allowed", callers=list(settings.plain_http_from), advice=READABLE)
        return await run([*components, *extra], health, grace_s=settings.shutdown_grace_s, on_ready=on_ready)


async def _prepare(client: Client, configuration: Configuration, *, purges: bool) -> dict[str, tuple[Partition, ...]]:
    settings = configuration[Settings]
    return await prepare(
        client,
        CONTEXTS,
        replicas=settings.nats_replicas,
        partitions={"reminder": configuration[ReminderSettings].reminder_partitions},
        log_max=parse_size(settings.log_max) if settings.log_max else None,
        purges=purges,
    )


def _listener(app: web.Application, settings: Settings) -> list[Component]:
    """Make the components that serve the application over HTTP, or over HTTPS if the settings name a certificate."""
    certificate = Certificate.of(settings)
    listener = serve_http(
        app,
        settings.http_host,
        settings.http_port,
        grace_s=settings.shutdown_grace_s,
        tls=certificate.context if certificate else None,
    )
    components = [Component("http", Phase.EDGE, listener)]
    if certificate:
        components.append(Component("certificate", Phase.EDGE, certificate.watching()))
    return components


def _servers(host: Host) -> list[Component]:
    """Make the components that watch this process's connections to NATS and Postgres."""
    components = [
        Component("nats connection", Phase.SERVER, nullcontext(), failure=partial(wait_closed, host.client)),
        Component("durability watch", Phase.SERVER, watching_durability(host.settings)),
    ]
    if any(REGISTRY[name].reads_postgres for name in host.services):
        components.append(Component("postgres watch", Phase.SERVER, watch.watching(host.pool)))
    return components
