"""Reports errors of reminders, as document 004 (reminders) requires: one log line and one count for each, by kind."""

from __future__ import annotations

from typing import Any, Final, Literal

import structlog

from drover.reminder.metrics import ERRORS

Kind = Literal["past_schedule", "batch_update", "push", "database", "crowded_minute"]

log: Final = structlog.get_logger("alarm")
"""The logger `alarm`. It shows only warnings and errors, unless `DEBUG=alarm` turns on the rest."""


def report(kind: Kind, event: str, **details: Any) -> None:
    ERRORS.labels(kind).inc()
    log.error(event, kind=kind, **details)
