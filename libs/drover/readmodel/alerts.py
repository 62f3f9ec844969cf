"""Every context's table of alerts: what needs a person, and whether it still does."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from drover.readmodel.column import Json
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable


class AlertRow(Row, frozen=True):
    """An alert that needs or needed a person."""

    id: str
    kind: str
    subject: str
    """The id of what the alert is about: a device, job, PC, render and so on."""
    message: str
    details: Json
    raised_at: datetime
    until: datetime | None
    """When the alert is resolved automatically. Null: when its cause is over."""
    resolved_at: datetime | None = None
    reason: str | None = None
    """Why the alert was resolved."""
    acknowledged_at: datetime | None = None
    acknowledged_by: str | None = None
    """Who acknowledged the alert last, such as `user:<id>`. Null: nobody."""
    acknowledged_note: str | None = None
    snoozed_until: datetime | None = None
    """Until when no notices of this kind and subject are sent. Null: not snoozed."""
    snoozed_by: str | None = None
    """Who snoozed it. Null: it is not snoozed, or an earlier alert of the same kind and subject was."""
    snooze_note: str | None = None


ALERTS: Final = KeyedTable(
    name="alert_rows",
    row=AlertRow,
    key=("id",),
    indices=(
        Index("alert_rows_open", "raised_at", where="resolved_at IS NULL"),
        Index("alert_rows_raised_at", "raised_at"),
        Index("alert_rows_subject", "subject, raised_at"),
        Index("alert_rows_kind", "kind, raised_at"),
    ),
)
