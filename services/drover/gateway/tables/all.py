"""All relations that take writes. Routes and their documentation follow from this list."""

from __future__ import annotations

from typing import Final

from drover.gateway.tables.alarm import ALARM
from drover.gateway.tables.assignments import ASSIGNMENTS
from drover.gateway.tables.compositions import COMPOSITIONS
from drover.gateway.tables.devices import DEVICES
from drover.gateway.tables.field_mapping import FIELD_MAPPING
from drover.gateway.tables.jobs import JOBS
from drover.gateway.tables.pcs import PCS
from drover.gateway.tables.render_queue import RENDER_QUEUE
from drover.gateway.tables.saju_tests import SAJU_TESTS
from drover.gateway.tables.task_devices import TASK_DEVICES
from drover.gateway.tables.tasks import TASKS
from drover.gateway.tables.user_info import USER_INFO
from drover.gateway.tables.users import USERS
from drover.gateway.tables.workers import WORKERS

TABLES: Final = (
    DEVICES,
    PCS,
    JOBS,
    ASSIGNMENTS,
    WORKERS,
    TASKS,
    TASK_DEVICES,
    RENDER_QUEUE,
    COMPOSITIONS,
    FIELD_MAPPING,
    USERS,
    SAJU_TESTS,
    ALARM,
    USER_INFO,
)
