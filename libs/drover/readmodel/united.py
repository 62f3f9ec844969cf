"""Relations that unite the tables of all contexts: events and alerts."""

from __future__ import annotations

from typing import Final

from drover.domain.contexts import CONTEXTS
from drover.readmodel.alerts import AlertRow
from drover.readmodel.events import EventRow
from drover.readmodel.relation import united

ALERTS: Final = united("alerts", AlertRow, CONTEXTS, order=("id",))
EVENTS: Final = united("events", EventRow, CONTEXTS, order=("at", "context", "seq", "line"))
