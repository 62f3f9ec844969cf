"""What can be read at `/rest/v1`: names, columns, types and embeddings, as the projections make them."""

from __future__ import annotations

from typing import Final

from drover.gateway.relations.fleet import (
    DEVICES,
    EXECUTION_LOGS,
    JOB_ASSIGNMENTS,
    JOBS,
    PC_DEVICE_SUMMARY,
    PCS,
    TASK_DEVICES,
    TASKS,
    TASKS_EVENT,
    WORKERS,
)
from drover.gateway.relations.united import ALERTS, EVENTS

RELATIONS: Final = {
    relation.name: relation
    for relation in (
        DEVICES,
        PCS,
        WORKERS,
        PC_DEVICE_SUMMARY,
        JOBS,
        JOB_ASSIGNMENTS,
        TASKS,
        TASK_DEVICES,
        TASKS_EVENT,
        EXECUTION_LOGS,
        ALERTS,
        EVENTS,
    )
}
