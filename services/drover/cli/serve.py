"""`drover serve`: runs any set of services in one process, with NATS and Postgres servers that the operator runs."""

from __future__ import annotations

import os
import sys

import uvloop

from drover.cli.service_names import ALL, SERVICES
from drover.platform import serve as platform
from drover.platform.registry import REGISTRY
from drover.platform.settings import load
from drover.platform.unread_settings import warn_of_unread
from drover.service import logging
from drover.service.config import Settings
from drover.service.error_reports import report_errors
from drover.service.process import tune_garbage_collection


def serve(services: tuple[str, ...]) -> None:
    configuration = load(os.environ)
    settings = configuration[Settings]
    logging.configure(settings.log_format, settings.log_level)
    report_errors(settings.sentry_dsn, settings.instance)
    tune_garbage_collection()
    chosen = SERVICES if ALL in services else services
    os.nice(min(REGISTRY[name].niceness for name in chosen))
    warn_of_unread(os.environ, chosen)
    sys.exit(uvloop.run(platform.serve(configuration, chosen)))
