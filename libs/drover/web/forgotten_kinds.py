"""Which commands are about work that its writer may have forgotten, and where the rows of this work are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drover.domain.analysis import commands as a
from drover.domain.analysis.forgotten import TestRow
from drover.domain.decider import Command
from drover.domain.fleet import commands as c
from drover.domain.fleet.forgotten import AssignmentRow, JobRow
from drover.web.forgotten import Kind

JOB: Final = Kind("job", "jobs", JobRow, "job_id")
TEST: Final = Kind("test", "saju_tests", TestRow, "test_id")
ASSIGNMENT: Final = Kind("assignment", "job_assignments", AssignmentRow, "assignment_id")

_OF_A_JOB: Final = (
    c.PauseJob,
    c.ResumeJob,
    c.PrioritizeJob,
    c.RunJobNext,
    c.ScheduleJob,
    c.DeactivateJob,
    c.CancelJob,
)
FLEET_WORK: Final[Mapping[type[Command], Kind]] = MappingProxyType(
    {
        **dict.fromkeys(_OF_A_JOB, JOB),
        **dict.fromkeys(
            (c.CancelAssignment, c.ReportRunning, c.ReportCompleted, c.ReportPending, c.ReportFailed), ASSIGNMENT
        ),
    }
)
ANALYSIS_WORK: Final[Mapping[type[Command], Kind]] = MappingProxyType(
    dict.fromkeys((a.CompleteTest, a.FailTest, a.ChangeTest), TEST)
)
