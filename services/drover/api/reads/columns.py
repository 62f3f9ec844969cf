"""The columns that replace `{columns}` and `{work}` in the queries of `sql/*.sql`."""

from __future__ import annotations

from typing import Final

from drover.api.reads.attempts import AttemptEvent
from drover.api.reads.records import selected
from drover.api.reads.work import WORK
from drover.readmodel.alerts import AlertRow
from drover.readmodel.analysis.cleanups import FoundTest, RunRow
from drover.readmodel.analysis.users import LedgerEntry, TestRow, UserRow
from drover.readmodel.events import EventRow
from drover.readmodel.fleet.assignments import PROGRESS, AssignmentRow
from drover.readmodel.fleet.devices import COMPUTED as OF_DEVICES
from drover.readmodel.fleet.devices import STATUS, Device, PcRow
from drover.readmodel.fleet.jobs import JobRow
from drover.readmodel.reminder import AlarmEventRow, AlarmFacts
from drover.readmodel.render.queue import PROGRESS as RENDER_PROGRESS
from drover.readmodel.render.queue import Render, RenderStage, StatusChange

_EVENT: Final = selected(EventRow, "e")

COLUMNS: Final = {
    "devices": selected(Device, "d", {**OF_DEVICES, "status": f"rm_fleet.{STATUS}"}),
    "pcs": selected(PcRow, "pc"),
    "jobs": selected(JobRow, "j"),
    "assignments": selected(AssignmentRow, "a", {"progress_pct": PROGRESS}),
    "attempts": selected(AttemptEvent, "e", {"job_id": "e.task_id", "assignment_id": "e.task_device_id"}),
    "renders": selected(Render, "r", {"progress": RENDER_PROGRESS}),
    "render_audit": selected(StatusChange, "c"),
    "render_stages": selected(RenderStage, "s"),
    "analyses": selected(TestRow, "t"),
    "cleanup_runs": selected(RunRow, "r"),
    "cleanup_run_tests": selected(FoundTest, "t"),
    "user": selected(UserRow, "u"),
    "ledger": selected(LedgerEntry, "l"),
    "reminders": selected(AlarmFacts, "a"),
    "reminder_events": selected(AlarmEventRow, "h"),
    "alerts": selected(AlertRow, "a"),
    "events": _EVENT,
    "next_of_entities": _EVENT,
    "event_before": _EVENT,
}
"""The SELECT list of each query, by the name of the query."""


def with_columns(name: str, sql: str) -> str:
    """Return the query of this name with its columns filled in. The conditions are added for each request."""
    return sql.replace("{columns}", COLUMNS.get(name, "")).replace("{work}", WORK)
