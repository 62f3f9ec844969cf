"""Jobs: the rows, with counters of their assignments by status, and the columns that clients see."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from drover.domain.fleet.job_spec import JobSpec
from drover.domain.fleet.state import JobStatus
from drover.readmodel.column import BigInt, column, pick, renamed
from drover.readmodel.relation import View, many, relation
from drover.readmodel.row import Row
from drover.readmodel.table import Index, KeyedTable

_fleet = partial(relation, "fleet")

_COUNTERS: Final = ("pending", "running", "retrying", "completed", "failed", "cancelled", "skipped")


class JobRow(JobSpec, Row, frozen=True, kw_only=True):
    """A job: the fields that the client set, and its state. The counters of the ACTIVE job change with every batch."""

    id: UUID
    is_active: bool
    status: JobStatus
    needs: list[str]
    """Capabilities that a device must have."""
    created_at: datetime
    updated_at: datetime
    activated_at: datetime | None = None
    """When the job first became ACTIVE."""
    ended_at: datetime | None = None
    paused_for: str | None = None
    """Why the job is paused: the error rule by which three devices failed, or `admin` for a person."""
    end_reason: str | None = None
    """Why the job ended: `done`, `time`, `admin`, or an error rule that applies to every device."""
    put_first: BigInt = 0
    """If somebody put the job first ("Run next"): a number that is higher the later this was. Waiting jobs get their
    turn in the order `put_first.desc,priority.desc,created_at`."""
    is_scheduled: bool = False
    """Whether the job waits for the time `not_before`. It is not in the queue until then."""
    pending: int = 0
    """How many assignments wait, are offered or are sent. Each assignment is in one of the counters from here to
    `cancelled`. One that was taken back while the job goes on is in none: another device may get the job instead."""
    running: int = 0
    retrying: int = 0
    """How many assignments have failed and wait for the next attempt. They are not counted as pending."""
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    """How many assignments were cancelled by a person, or because the job was cancelled, deactivated or expired."""
    skipped: int = 0
    """How many target devices did not get the job before it ended: they had no assignment, or theirs still waited when
    the job was completed. After the end, all counters together are the number of target devices."""


JOBS: Final = KeyedTable(
    name="job_rows",
    row=JobRow,
    key=("id",),
    fillfactor=50,
    indices=(
        Index("job_rows_status", "status, created_at"),
        Index("job_rows_created_at", "created_at"),
        Index("job_rows_ended_at", "ended_at"),
        Index("job_rows_title", "title, id", why="the history sorted by title"),
        Index("job_rows_title_prefix", "lower(title) text_pattern_ops", why="search by the beginning of a title"),
    ),
)

# SQL of a job's status in the words of document 002 (the operations queue). The last case, `cancelled`, includes jobs
# that ended because people cancelled all assignments.
_TASK_STATUS: Final = """CASE
  WHEN j.status IN ('created', 'paused') THEN 'pending'
  WHEN j.status = 'active' AND j.retrying > 0 AND j.pending = 0 AND j.running = 0 THEN 'retrying'
  WHEN j.status = 'active' THEN 'running'
  WHEN j.status = 'completed' AND j.completed > 0 THEN 'success'
  WHEN j.status = 'completed' AND j.failed > 0 THEN 'failed'
  ELSE 'cancelled'
END"""

RELATIONS: Final = (
    _fleet("jobs", JobRow, view=View("job_rows", "j"), embeds=(many("job_assignments", "job_id"),)),
    _fleet(
        "tasks",
        (
            *pick(JobRow, "id", "title"),
            column("status", str, _TASK_STATUS, text="The job's status in 002's terms."),
            *pick(
                JobRow, "target_url", "script_type", "priority", "put_first", "not_before", "is_scheduled", "created_at"
            ),
            renamed(JobRow, "activated_at", "started_at", "j.activated_at"),
            renamed(JobRow, "ended_at", "completed_at", "j.ended_at"),
            *pick(JobRow, "updated_at"),
            column("reason", str | None, "coalesce(j.paused_for, j.end_reason)"),
            *pick(JobRow, *_COUNTERS),
        ),
        view=View("job_rows", "j"),
        embeds=(many("task_devices", "task_id"),),
        aliases={"status": {"completed": "success"}},  # some of the users' programs filter by `completed`
    ),
)
