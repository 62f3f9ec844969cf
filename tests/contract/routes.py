"""The routes that the services declare, and all services in one application, for tests that hold others to them."""

from __future__ import annotations

import base64
from typing import Any, Final

from aiohttp import web
from nats.aio.client import Client

from drover.api.reads.app import HANDLERS
from drover.api.reads.endpoint import Subject
from drover.cli.service_names import SERVICES
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.hosting.host import Host
from drover.platform.registry import REGISTRY
from drover.platform.serve import compose
from drover.platform.settings import load
from drover.service.health import Health
from drover.web.route import routes_of
from tests.unit.web.known_keys import KnownKeys

READS: Final = routes_of(*(one for one in HANDLERS if issubclass(one, Subject)))
"""What the dashboard reads of the read models."""
BY_SERVICE: Final = {name: routes_of(*service.handlers) for name, service in REGISTRY.items()}
SECRET: Final = "s" * 32


def all_services(**more: str) -> web.Application:
    """Every service in one process, with all that opens a route configured. Nothing is started or connected. `more`:
    further settings."""
    configuration = load(
        {
            "DROVER_NATS_URL": "nats://nowhere",
            "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
            "DROVER_JWT_SECRETS": SECRET,
            "DROVER_ANON": "agent",
            "DROVER_IDENTITY_SECRETS": "i" * 32,
            "DROVER_SEALING_KEYS": f"k1:{base64.b64encode(b'k' * 32).decode()}",
            "DROVER_RENDER_NEXRENDER_URL": "http://nowhere",
            "DROVER_RENDER_WORKERS": "1",
            "DROVER_RENDER_NAS": "/nowhere",
            "DROVER_RENDER_OUTPUT_DIR": "/nowhere",
            **more,
        }
    )
    pool: Any = None
    partitions = {context: (Partition(context),) for context in CONTEXTS}
    host = Host(configuration, Client(), pool, services=SERVICES, partitions=partitions)
    host.keys = KnownKeys()  # as if NATS had told which keys are revoked
    app, _ = compose(host, Health())
    return app
