"""`drover serve`: any set of services in one process, with servers that somebody else runs."""

from __future__ import annotations

import os
import sys

import click
import uvloop

from drover.cli import compose
from drover.service import config, logging
from drover.service.error_reports import report_errors
from drover.service.process import tune_garbage_collection

ALL = "all"


@click.command()
@click.argument(
    "services",
    nargs=-1,
    required=True,
    type=click.Choice([*compose.SERVICES, *compose.PARTS, ALL]),
    metavar="SERVICE...",
)
def serve(services: tuple[str, ...]) -> None:
    """Run SERVICEs (scheduler, gateway, render, projector, api, …, or all) in this process, on one HTTP port.

    `render-worker` is a part of `render`: workers without the queue, for machines of their own.

    Everything else comes from the environment: DROVER_NATS_URL, DROVER_NATS_SYSTEM_URL, DROVER_POSTGRES_URL,
    DROVER_JWT_SECRETS, DROVER_HTTP_PORT, … An unknown or malformed setting stops the start and says what to write.
    """
    settings = config.load(os.environ)
    logging.configure(settings.log_format, settings.log_level)
    report_errors(settings.sentry_dsn, settings.instance)
    tune_garbage_collection()
    chosen = compose.SERVICES if ALL in services else services
    sys.exit(uvloop.run(compose.serve(settings, chosen)))
