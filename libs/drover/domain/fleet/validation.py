"""Whether a command is well formed: all that can be said without looking at the fleet. Edges ask it beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.fleet.commands import (
    AssignJob,
    ChangeDevice,
    ClaimForPc,
    CreateJob,
    RegisterDevice,
    RegisterPc,
    Report,
    ReportCompleted,
    ReportFailed,
    ReportRunning,
)
from drover.domain.fleet.events import Target
from drover.domain.fleet.policy import (
    ATTEMPTS_MAX,
    CAPABILITIES_MAX,
    CAPABILITY_PATTERN,
    DEVICE_ID_PATTERN,
    ERROR_CODE_PATTERN,
    GROUP_PATTERN,
    PC_CAPACITY_MAX,
    PC_ID_PATTERN,
    PROBABILITIES_SUM_MAX,
    RUN_MAX,
    SERIAL_PATTERN,
    TARGET_COUNT_MAX,
    TARGET_DEVICES_MAX,
    TARGET_URL_CHARS_MAX,
    TARGET_URL_PATTERN,
    TITLE_CHARS_MAX,
)

SCRIPT_TYPES: Final = ("youtube_watch", "youtube_shorts", "youtube_subscribe")

_PATTERNS: Final = {
    "id": re.compile(DEVICE_ID_PATTERN),
    "device_id": re.compile(DEVICE_ID_PATTERN),
    "job_id": re.compile(DEVICE_ID_PATTERN),
    "device_ids": re.compile(DEVICE_ID_PATTERN),
    "serial_number": re.compile(SERIAL_PATTERN),
    "group_id": re.compile(GROUP_PATTERN),
    "pc_id": re.compile(PC_ID_PATTERN),
    "capabilities": re.compile(CAPABILITY_PATTERN),
    "target_url": re.compile(TARGET_URL_PATTERN),
    "error_code": re.compile(ERROR_CODE_PATTERN),
}


def invalid(field: str, value: object, message: str, rule: str | None = None) -> Rejection:
    details = {"field": field, "value": value}
    if rule is not None:
        details["rule"] = rule
    return Rejection(Code.VALIDATION_ERROR, message, details)


def validate(command: Command) -> Rejection | None:
    """Why it can never be accepted, or None."""
    check = _CHECKS.get(type(command))
    return None if check is None else check(command)


def _report(command: Report) -> Rejection | None:
    """A run is recorded as it was claimed, so it has a bound that every reader can hold."""
    return _range(0, RUN_MAX, run=command.run)


def _text(**fields: str) -> Rejection | None:
    for field, value in fields.items():
        # fullmatch: `$` alone would let a trailing line feed through.
        if not (pattern := _PATTERNS[field]).fullmatch(value):
            return invalid(field, value, f"{field} must match {pattern.pattern}")
    return None


def _range(low: int, high: int, **fields: int | None) -> Rejection | None:
    for field, value in fields.items():
        if value is not None and not low <= value <= high:
            return invalid(field, value, f"{field} must be between {low} and {high}")
    return None


def _capabilities(capabilities: Sequence[str]) -> Rejection | None:
    if len(capabilities) > CAPABILITIES_MAX:
        return invalid("capabilities", len(capabilities), f"at most {CAPABILITIES_MAX} capabilities")
    for capability in capabilities:
        if not _PATTERNS["capabilities"].fullmatch(capability):
            return invalid("capabilities", capability, f"each capability must match {CAPABILITY_PATTERN}")
    return None


def _register_pc(command: RegisterPc) -> Rejection | None:
    return _text(pc_id=command.pc_id) or _range(1, PC_CAPACITY_MAX, capacity=command.capacity)


def _register_device(command: RegisterDevice) -> Rejection | None:
    return _text(
        device_id=command.device_id,
        serial_number=command.serial_number,
        group_id=command.group_id,
        pc_id=command.pc_id,
    ) or _capabilities(command.capabilities)


def _change_device(command: ChangeDevice) -> Rejection | None:
    given = {
        field: value for field, value in (("group_id", command.group_id), ("pc_id", command.pc_id)) if value is not None
    }
    return _text(**given) or _capabilities(command.capabilities or ())


def _create_job(command: CreateJob) -> Rejection | None:
    return (
        _text(job_id=command.job_id)
        or _job_texts(command)
        or _range(10, 100, duration_min_pct=command.duration_min_pct, duration_max_pct=command.duration_max_pct)
        or _range(
            0,
            100,
            prob_like=command.prob_like,
            prob_comment=command.prob_comment,
            prob_playlist=command.prob_playlist,
        )
        or _job_sums(command)
        or _target(command.target)
    )


def _job_texts(command: CreateJob) -> Rejection | None:
    if command.title is not None and len(command.title) > TITLE_CHARS_MAX:
        return invalid("title", len(command.title), f"title must have at most {TITLE_CHARS_MAX} characters")
    if len(command.target_url) > TARGET_URL_CHARS_MAX:
        return invalid(
            "target_url", len(command.target_url), f"target_url must have at most {TARGET_URL_CHARS_MAX} characters"
        )
    if any(ord(character) <= 32 for character in command.target_url):
        return invalid("target_url", command.target_url, "target_url must be a URL, without spaces")
    if command.script_type not in SCRIPT_TYPES:
        return invalid("script_type", command.script_type, f"script_type must be one of {', '.join(SCRIPT_TYPES)}")
    return _text(target_url=command.target_url)


def _job_sums(command: CreateJob) -> Rejection | None:
    if command.duration_max_pct < command.duration_min_pct:
        message = "duration_max_pct must be >= duration_min_pct"
        return invalid("duration_max_pct", command.duration_max_pct, message, "V001")
    chances = command.prob_like + command.prob_comment + command.prob_playlist
    if chances > PROBABILITIES_SUM_MAX:
        message = f"prob_like + prob_comment + prob_playlist must be <= {PROBABILITIES_SUM_MAX}"
        return invalid("prob_like", chances, message, "V002")
    if not 0 <= command.base_reward < float("inf"):
        return invalid("base_reward", str(command.base_reward), "base_reward must be a number >= 0")
    return None


def _target(target: Target | None) -> Rejection | None:
    if target is None:
        return None
    kinds = [name for name in ("group_id", "pc_id", "device_ids") if getattr(target, name) is not None]
    if len(kinds) > 1:
        return invalid("target", " and ".join(kinds), "target takes one of group_id, pc_id and device_ids")
    if target.device_ids is not None and len(target.device_ids) > TARGET_DEVICES_MAX:
        return invalid("target", len(target.device_ids), f"at most {TARGET_DEVICES_MAX} devices by name")
    for device_id in target.device_ids or ():
        if refusal := _text(device_ids=device_id):
            return refusal
    given = {
        field: value for field, value in (("group_id", target.group_id), ("pc_id", target.pc_id)) if value is not None
    }
    return _text(**given) or _range(1, TARGET_COUNT_MAX, count=target.count)


def _assign_job(command: AssignJob) -> Rejection | None:
    return _text(id=command.assignment_id, job_id=command.job_id, device_id=command.device_id)


def _claim(command: ClaimForPc) -> Rejection | None:
    return _range(0, 1_000, max_to_claim=command.max_to_claim)


def _report_running(command: ReportRunning) -> Rejection | None:
    return _report(command) or _range(0, 100, progress_pct=command.progress_pct)


def _report_completed(command: ReportCompleted) -> Rejection | None:
    if refusal := _report(command):
        return refusal
    if command.error_code is not None:
        return invalid("error_code", command.error_code, "completed takes no error_code")
    if command.progress_pct != 100:
        return invalid("progress_pct", command.progress_pct, "completed needs progress_pct 100")
    if command.actual_duration_sec is None or command.actual_duration_sec <= 0:
        message = "completed needs actual_duration_sec > 0"
        return invalid("actual_duration_sec", command.actual_duration_sec, message, "V005")
    if command.actual_duration_sec > 7 * 86_400:
        return invalid("actual_duration_sec", command.actual_duration_sec, "actual_duration_sec is above a week")
    return ends_before_it_began(command.started_at, command.completed_at)


def ends_before_it_began(started_at: datetime | None, completed_at: datetime | None) -> Rejection | None:
    """V004. Both are claims of one clock, the agent's; no time of ours is compared with them."""
    if started_at is None or completed_at is None or completed_at > started_at:
        return None
    return invalid("completed_at", completed_at.isoformat(), "completed_at must be after started_at", "V004")


def _report_failed(command: ReportFailed) -> Rejection | None:
    if refusal := _report(command):
        return refusal
    if command.error_code is None:
        return invalid("error_code", None, "failed needs an error_code")
    if command.retry_count is not None and not 0 <= command.retry_count <= ATTEMPTS_MAX:
        message = f"retry_count must be between 0 and {ATTEMPTS_MAX}"
        return invalid("retry_count", command.retry_count, message, "V007")
    return _text(error_code=command.error_code)


_CHECKS: Final[dict[type[Command], Callable[[Any], Rejection | None]]] = {
    RegisterPc: _register_pc,
    RegisterDevice: _register_device,
    ChangeDevice: _change_device,
    CreateJob: _create_job,
    AssignJob: _assign_job,
    ClaimForPc: _claim,
    ReportRunning: _report_running,
    ReportCompleted: _report_completed,
    ReportFailed: _report_failed,
}
