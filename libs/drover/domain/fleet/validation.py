"""Checks of a command that need no fleet state. HTTP services call them before they send the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from drover.domain.decider import Command, Rejection
from drover.domain.field_checks import check_range, invalid
from drover.domain.fleet.commands import (
    AssignJob,
    ChangeDevice,
    ClaimForPc,
    CreateJob,
    PrioritizeJob,
    RegisterDevice,
    RegisterPc,
    Report,
    ReportCompleted,
    ReportFailed,
    ReportPending,
    ReportRunning,
)
from drover.domain.fleet.field_patterns import TEXTS
from drover.domain.fleet.job_spec import check_spec
from drover.domain.fleet.policy import (
    ATTEMPTS_MAX,
    CAPABILITIES_MAX,
    CAPABILITY_PATTERN,
    DURATION_S_MAX,
    PC_CAPACITY_MAX,
    PRIORITY_MAX,
    RUN_MAX,
)
from drover.domain.rules import validate_by


def _report(command: Report) -> Rejection | None:
    """Check the number of the run. It is recorded as the agent reports it, so it must fit into the integers of every
    program that reads the event."""
    return check_range(0, RUN_MAX, run=command.run)


def _capabilities(capabilities: Sequence[str]) -> Rejection | None:
    if len(capabilities) > CAPABILITIES_MAX:
        return invalid("capabilities", len(capabilities), f"at most {CAPABILITIES_MAX} capabilities")
    for capability in capabilities:
        if not TEXTS["capabilities"].fullmatch(capability):
            return invalid("capabilities", capability, f"each capability must match {CAPABILITY_PATTERN}")
    return None


def _register_pc(command: RegisterPc) -> Rejection | None:
    return TEXTS.check(pc_id=command.pc_id) or check_range(1, PC_CAPACITY_MAX, capacity=command.capacity)


def _register_device(command: RegisterDevice) -> Rejection | None:
    return TEXTS.check(
        device_id=command.device_id,
        serial_number=command.serial_number,
        group_id=command.group_id,
        pc_id=command.pc_id,
    ) or _capabilities(command.capabilities)


def _change_device(command: ChangeDevice) -> Rejection | None:
    return TEXTS.check(group_id=command.group_id, pc_id=command.pc_id) or _capabilities(command.capabilities or ())


def _create_job(command: CreateJob) -> Rejection | None:
    return TEXTS.check(job_id=command.job_id) or check_spec(command)


def _prioritize_job(command: PrioritizeJob) -> Rejection | None:
    return check_range(-PRIORITY_MAX, PRIORITY_MAX, priority=command.priority)


def _assign_job(command: AssignJob) -> Rejection | None:
    return TEXTS.check(id=command.assignment_id, job_id=command.job_id, device_id=command.device_id)


def _claim(command: ClaimForPc) -> Rejection | None:
    return check_range(0, 1_000, max_to_claim=command.max_to_claim)


def _report_running(command: ReportRunning) -> Rejection | None:
    return (
        _report(command)
        or check_range(0, 100, progress_pct=command.progress_pct)
        or _retry_count(command.retry_count)
        or TEXTS.check(error_code=command.error_code)
    )


def _report_completed(command: ReportCompleted) -> Rejection | None:
    if refusal := _report(command):
        return refusal
    if command.error_code is not None:
        return invalid("error_code", command.error_code, "completed takes no error_code")
    if command.progress_pct != 100 and not (command.infers and command.progress_pct is None):
        return invalid("progress_pct", command.progress_pct, "completed needs progress_pct 100")
    if command.actual_duration_sec is None and command.infers:
        return ends_before_it_began(command.started_at, command.completed_at)
    if command.actual_duration_sec is None or command.actual_duration_sec <= 0:
        message = "completed needs actual_duration_sec > 0"
        return invalid("actual_duration_sec", command.actual_duration_sec, message, "V005")
    if command.actual_duration_sec > DURATION_S_MAX:
        return invalid("actual_duration_sec", command.actual_duration_sec, "actual_duration_sec is above a week")
    return ends_before_it_began(command.started_at, command.completed_at)


def ends_before_it_began(started_at: datetime | None, completed_at: datetime | None) -> Rejection | None:
    """Refuse a report whose end is not after its start (rule V004). Both times come from the agent's clock and are
    never compared with ours."""
    if started_at is None or completed_at is None or completed_at > started_at:
        return None
    return invalid("completed_at", completed_at.isoformat(), "completed_at must be after started_at", "V004")


def _report_failed(command: ReportFailed) -> Rejection | None:
    if refusal := _report(command):
        return refusal
    if command.error_code is None:
        return invalid("error_code", None, "failed needs an error_code")
    return _retry_count(command.retry_count) or TEXTS.check(error_code=command.error_code)


def _retry_count(retry_count: int | None) -> Rejection | None:
    if retry_count is None or 0 <= retry_count <= ATTEMPTS_MAX:
        return None
    return invalid("retry_count", retry_count, f"retry_count must be between 0 and {ATTEMPTS_MAX}", "V007")


_CHECKS: Final[dict[type[Command], Callable[[Any], Rejection | None]]] = {
    RegisterPc: _register_pc,
    RegisterDevice: _register_device,
    ChangeDevice: _change_device,
    CreateJob: _create_job,
    PrioritizeJob: _prioritize_job,
    AssignJob: _assign_job,
    ClaimForPc: _claim,
    ReportRunning: _report_running,
    ReportCompleted: _report_completed,
    ReportFailed: _report_failed,
    ReportPending: _report,
}

validate: Final = validate_by(_CHECKS)
