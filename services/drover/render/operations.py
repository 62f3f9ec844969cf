"""The one route of render workers, described."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from drover.web.openapi.operation import Answer, Operation


class WorkerHealth(msgspec.Struct):
    """As 003 §9.3 has it."""

    status: str
    worker_id: str
    uptime_seconds: float
    current_job_id: int | None
    last_poll: datetime | None
    job_count_completed: int
    workers: list[WorkerHealth] | UnsetType = UNSET
    """Where the process has several: all of them."""


OPERATIONS: Final = (
    Operation(
        method="GET",
        path="/health",
        id="getWorkerHealth",
        tag="process",
        summary="How the render workers of this process are",
        answers={200: Answer(WorkerHealth)},
        caller="anybody",
    ),
)
