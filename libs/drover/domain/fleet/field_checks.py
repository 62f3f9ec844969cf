"""Checks of single fields: patterns, ranges, and how a refusal names the field and its value."""

from __future__ import annotations

import re
from typing import Final

from drover.domain.decider import Rejection
from drover.domain.errors import Code
from drover.domain.fleet.policy import (
    CAPABILITY_PATTERN,
    DEVICE_ID_PATTERN,
    ERROR_CODE_PATTERN,
    GROUP_PATTERN,
    PC_ID_PATTERN,
    SERIAL_PATTERN,
    TARGET_URL_PATTERN,
)

PATTERNS: Final = {
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


def check_text(**fields: str) -> Rejection | None:
    for field, value in fields.items():
        # fullmatch: `$` alone would let a trailing line feed through.
        if not (pattern := PATTERNS[field]).fullmatch(value):
            return invalid(field, value, f"{field} must match {pattern.pattern}")
    return None


def check_range(low: int, high: int, **fields: int | None) -> Rejection | None:
    for field, value in fields.items():
        if value is not None and not low <= value <= high:
            return invalid(field, value, f"{field} must be between {low} and {high}")
    return None
