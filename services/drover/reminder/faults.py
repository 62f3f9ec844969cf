"""What is reported as an error (seed 004): one line in the log and one count, by kind. `DEBUG=alarm` shows the rest."""

from __future__ import annotations

from typing import Any, Final, Literal

import structlog

from drover.reminder.metrics import ERRORS

Kind = Literal["past_schedule", "batch_update", "push", "database", "crowded_minute"]

log: Final = structlog.get_logger("alarm")
"""The namespace `alarm`: quiet below warnings unless it is turned on."""


def report(kind: Kind, event: str, **details: Any) -> None:
    ERRORS.labels(kind).inc()
    log.error(event, kind=kind, **details)
