"""The history of attempts at renders: the steps and results of each worker's run and each nexrender job."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from drover.readmodel.attempt_events import ATTEMPT_EVENT_TYPES
from drover.readmodel.column import BigInt, words
from drover.readmodel.relation import one, relation
from drover.readmodel.row import Row
from drover.readmodel.table import AppendTable, Index


class RenderEventRow(Row, frozen=True):
    """One entry in the history of attempts at a render, in the words of `tasks_event`."""

    id: BigInt
    """The position in the log: sequence of the commit * 65536 + line. It grows with time."""
    render_queue_id: int
    attempt: int
    """The number of the nexrender job, from 1. It grows when the whole render is done again."""
    run: int
    """The worker's run, from 1. It grows with each claim. 0: no worker has claimed this attempt yet."""
    worker_id: str | None
    event_type: Annotated[str, words(*ATTEMPT_EVENT_TYPES)]
    """`CREATED`: requested or run again; `SENT`: claimed; `ACKED`: nexrender has the job."""
    level: Annotated[str, words("info", "warning", "error")]
    error_code: str | None
    message: str | None
    due_at: datetime | None
    by: str
    created_at: datetime


RENDERS_EVENT: Final = AppendTable(
    name="renders_event",
    row=RenderEventRow,
    key=("id",),
    by_position="id",
    indices=(
        Index("renders_event_render_queue_id", "render_queue_id, id"),
        Index("renders_event_created_at", "created_at"),
    ),
)

RELATIONS: Final = (
    relation("render", "renders_event", RenderEventRow, embeds=(one("render_queue", "render_queue_id"),)),
)
