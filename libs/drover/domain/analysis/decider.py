"""The decider of analyses: which rule decides which command. Pure; a decision's cost does not grow with the state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain import alert_handling
from drover.domain.analysis import commands as c
from drover.domain.analysis.answers import answer
from drover.domain.analysis.cleanup import cleanup, get_cleanup_run, report_cleanup_failed
from drover.domain.analysis.deadlines import next_deadline, tick
from drover.domain.analysis.events import AnalysisEvent
from drover.domain.analysis.evolution import evolve
from drover.domain.analysis.lifecycle import complete_test, fail_test, start_test
from drover.domain.analysis.rows import change_test, record_test
from drover.domain.analysis.state import Analyses
from drover.domain.analysis.users import change_user, register_user
from drover.domain.analysis.validation import validate
from drover.domain.decider import Command, Decider, Decision, Tick
from drover.domain.limited_callers import ReportLimited, report_limited
from drover.domain.quota import within_quota
from drover.domain.rules import decide_by

_DECIDE: Final[dict[type[Command], Callable[[Analyses, Any, datetime], Decision]]] = {
    c.RegisterUser: register_user,
    c.ChangeUser: change_user,
    c.StartTest: within_quota(start_test),
    c.CompleteTest: complete_test,
    c.FailTest: fail_test,
    c.RecordTest: record_test,
    c.ChangeTest: change_test,
    c.Cleanup: cleanup,
    c.GetCleanupRun: get_cleanup_run,
    c.ReportCleanupFailed: report_cleanup_failed,
    ReportLimited: report_limited,
    **alert_handling.RULES,
    Tick: tick,
}

ANALYSIS: Final = Decider(
    context="analysis",
    initial=Analyses,
    decide=decide_by(_DECIDE, validate=validate),
    evolve=evolve,
    next_deadline=next_deadline,
    answer=answer,
    commands=c.AnalysisCommand,
    events=AnalysisEvent,
    state=Analyses,
    image_migrations={"e10f46da5a3538b3": None, "8a6a1aeb4b5e194b": None, "d47d6c6b460ba125": None},
)
