"""What can be read at `/rest/v1`: names, columns, types and embeddings, as the projections make them."""

from __future__ import annotations

from typing import Final

from drover.gateway.relations.analysis import (
    CLEANUP_RUN_TESTS,
    CLEANUP_RUNS,
    SAJU_TESTS,
    TEST_LEDGER,
    USERS,
)
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
from drover.gateway.relations.identity import ACCOUNTS, SESSIONS
from drover.gateway.relations.reminder import ALARM, ALARMS_EVENT, PUSH_SUBSCRIPTIONS, USER_INFO
from drover.gateway.relations.render import (
    AEP_COMPOSITIONS,
    AEP_FIELD_MAPPING,
    RENDER_FIGURES,
    RENDER_QUEUE,
    RENDER_QUEUE_AUDIT,
    RENDER_STAGE_RANGES,
    RENDER_STAGES,
    RENDER_WORKERS,
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
        RENDER_QUEUE,
        RENDER_QUEUE_AUDIT,
        RENDER_STAGES,
        RENDER_STAGE_RANGES,
        RENDER_WORKERS,
        RENDER_FIGURES,
        AEP_COMPOSITIONS,
        AEP_FIELD_MAPPING,
        SAJU_TESTS,
        USERS,
        CLEANUP_RUNS,
        CLEANUP_RUN_TESTS,
        TEST_LEDGER,
        ACCOUNTS,
        SESSIONS,
        ALARM,
        USER_INFO,
        ALARMS_EVENT,
        PUSH_SUBSCRIPTIONS,
        ALERTS,
        EVENTS,
    )
}
