"""The fleet's read model: PCs, devices, jobs, assignments and attempts. `tables.sql` is generated from it; `views.sql`
has the hand-written views."""

from typing import Final

from drover.readmodel.fleet import assignments, attempts, devices, jobs
from drover.readmodel.model import ReadModel

FLEET: Final = ReadModel(
    context="fleet",
    own_tables=(
        devices.PCS,
        devices.DEVICES,
        jobs.JOBS,
        assignments.ASSIGNMENTS,
        attempts.MINUTES,
        attempts.TASKS_EVENT,
    ),
    functions=(devices.STATUS_FUNCTION,),
    relations=(*devices.RELATIONS, *jobs.RELATIONS, *assignments.RELATIONS, *attempts.RELATIONS),
    rules=5,
)
