"""Reports errors (seed 004): one log line and one count for each, by kind. `DEBUG=alarm` shows the rest."""

from __future__ import annotations

from typing import Any, Final, Literal

import structlog

from drover.reminder.metrics import ERRORS

Kind = Literal["past_schedule", "batch_update", "push", "database", "crowded_minute"]

log: Final = structlog.get_logger("alarm")
"""The namespace `alarm`: logs only warnings and errors unless it is turned on."""


def report(kind: Kind, event: str, **details: Any) -> None:
    ERRORS.labels(kind).inc()
    log.error(event, kind=kind, **details)
