"""The fleet's decider: which rule decides which command. Pure; a decision's cost does not grow with the fleet."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain import alert_handling
from drover.domain.decider import Command, Decider, Decision, Tick
from drover.domain.fleet import commands as c
from drover.domain.fleet.answers import answer
from drover.domain.fleet.deadlines import next_deadline, tick
from drover.domain.fleet.delivery import claim_for_pc, send_attempt
from drover.domain.fleet.events import FleetEvent
from drover.domain.fleet.evolution import evolve
from drover.domain.fleet.jobs import (
    assign_job,
    cancel_assignment,
    cancel_job,
    create_job,
    deactivate_job,
    pause_job,
    prioritize_job,
    resume_job,
    run_job_next,
    schedule_job,
)
from drover.domain.fleet.presence import (
    clear_condition,
    mark_offline,
    mark_online,
    mark_silent,
    mark_stalled,
    report_device_error,
)
from drover.domain.fleet.registration import change_device, register_device, register_pc, reset_device
from drover.domain.fleet.reports import (
    report_completed,
    report_failed,
    report_pending,
    report_running,
    report_throttled,
)
from drover.domain.fleet.state import Fleet
from drover.domain.fleet.validation import validate
from drover.domain.limited_callers import ReportLimited, report_limited
from drover.domain.rules import decide_by

_DECIDE: Final[dict[type[Command], Callable[[Fleet, Any, datetime], Decision]]] = {
    c.RegisterPc: register_pc,
    c.RegisterDevice: register_device,
    c.ChangeDevice: change_device,
    c.ResetDevice: reset_device,
    c.MarkOnline: mark_online,
    c.MarkOffline: mark_offline,
    c.MarkSilent: mark_silent,
    c.MarkStalled: mark_stalled,
    c.ClearCondition: clear_condition,
    c.CreateJob: create_job,
    c.PauseJob: pause_job,
    c.ResumeJob: resume_job,
    c.PrioritizeJob: prioritize_job,
    c.RunJobNext: run_job_next,
    c.ScheduleJob: schedule_job,
    c.DeactivateJob: deactivate_job,
    c.CancelJob: cancel_job,
    c.AssignJob: assign_job,
    c.CancelAssignment: cancel_assignment,
    c.SendAttempt: send_attempt,
    c.ClaimForPc: claim_for_pc,
    c.ReportRunning: report_running,
    c.ReportCompleted: report_completed,
    c.ReportPending: report_pending,
    c.ReportFailed: report_failed,
    c.ReportDeviceError: report_device_error,
    c.ReportThrottled: report_throttled,
    c.FireOverdue: tick,
    ReportLimited: report_limited,
    **alert_handling.RULES,
    Tick: tick,
}

FLEET: Final = Decider(
    context="fleet",
    initial=Fleet,
    decide=decide_by(_DECIDE, validate=validate),
    evolve=evolve,
    next_deadline=next_deadline,
    answer=answer,
    commands=c.FleetCommand,
    events=FleetEvent,
    state=Fleet,
    image_migrations={"4a7177b8895f0eb2": None, "1bcaacd7332b8dd9": None, "313b76b0095f282b": None},
    version=6,
)
