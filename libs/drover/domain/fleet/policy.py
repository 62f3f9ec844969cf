"""The fleet's limits, patterns and table of error codes, as the users wrote them (seeds 000 and 002)."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from drover.domain.backoff import Backoff

DEVICE_ID_PATTERN: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
SERIAL_PATTERN: Final = r"^[A-Z0-9]{8,32}$"
GROUP_PATTERN: Final = r"^P[0-9]+-G[0-9]+$"
PC_ID_PATTERN: Final = r"^[A-Za-z0-9._-]{1,64}$"
CAPABILITY_PATTERN: Final = r"^[a-z0-9_]{1,64}$"
TARGET_URL_PATTERN: Final = r"^https?://(www\.)?(youtube\.com|youtu\.be)/.+"
ERROR_CODE_PATTERN: Final = r"^[A-Za-z0-9_.-]{1,64}$"

CAPABILITIES_MAX: Final = 32
TITLE_CHARS_MAX: Final = 200
TARGET_URL_CHARS_MAX: Final = 2048
MESSAGE_BYTES_MAX: Final = 4000
"""Error messages and activity stacks, in UTF-8: longer ones are cut, to keep decisions within their bound."""
REFERENCE_BYTES_MAX: Final = 1000
"""References to screenshots, in UTF-8."""

PC_CAPACITY_DEFAULT: Final = 20
PC_CAPACITY_MAX: Final = 20
DEVICES_PER_PC_MAX: Final = 200
"""Bounds the number of devices that one decision looks at."""

OPEN_JOBS_MAX: Final = 1_000
TARGET_DEVICES_MAX: Final = 1_000
TARGET_COUNT_MAX: Final = 1_000_000
PROBABILITIES_SUM_MAX: Final = 300

OFFLINE_AFTER_S: Final = 30.0
"""An online device that is silent for this long is offline."""
SILENT_AFTER_S: Final = 60.0
"""A busy device that is silent for this long loses its work."""
STALLED_AFTER_S: Final = 120.0
"""An attempt whose progress has not changed for this long has stalled."""
AD_HOLDS_S: Final = 300.0
"""How long advertisements may pause the progress of one attempt, in total."""
CHARGED_PCT: Final = 20
"""A device with a low battery gets work again from this charge on."""

ATTEMPTS_MAX: Final = 3
DURATION_S_MAX: Final = 7 * 86_400
"""Of one attempt, as its agent tells it."""
RETRY_DELAY_MAX_S: Final = 600
RUN_MAX: Final = 1_000_000_000
OFFER_TAKEN_WITHIN: Final = timedelta(seconds=90)
OFFER_ACKED_WITHIN: Final = timedelta(seconds=60)
ATTEMPT_TIMEOUT: Final = timedelta(minutes=20)
TIMEOUT_MESSAGE: Final = "Task device timeout: exceeded 20 minutes"
CRASHED_MESSAGE: Final = "YouTube app crashed 3 times consecutively"

HOLD: Final = Backoff(first_s=5 * 60, max_s=80 * 60)
"""How long a device gets no offers, by the number of offers in a row that it did not fetch."""
UNTAKEN_ALERT_AT: Final = 3
ROLLBACKS_MAX: Final = 3
"""The rollback with this number counts as a failed attempt."""

FAILURES_IN_A_ROW_MAX: Final = 3
CRASHES_IN_A_ROW_MAX: Final = 3
ERROR_LASTS: Final = timedelta(minutes=60)
CRASH_ERROR_LASTS: Final = timedelta(minutes=30)

POISON_DEVICES: Final = 3
HOST_FAILING_WITHIN: Final = timedelta(minutes=10)
HOST_DEVICES_MIN: Final = 3
"""One or two failing phones say nothing about their PC."""
HOST_HOLD: Final = timedelta(minutes=10)
HOST_SILENT_WITHIN: Final = timedelta(hours=1)
"""Phones that fell silent earlier than this do not count when the last one of their PC falls silent."""
HOST_SILENT_DEVICES_MIN: Final = 2
"""One silent phone says nothing about its PC."""
THROTTLE_ALERT_LASTS: Final = timedelta(minutes=5)

JOB_LIVES: Final = timedelta(hours=24)
ARCHIVE_AFTER: Final = timedelta(hours=24)

FOLLOW_UP_EVENTS_MAX: Final = 180
"""Follow-up events that one command may cause. At some 480 bytes each, and beside the longest command (a list of 1,000
devices, or the texts of a failure), they stay within a decision's bound."""
SWEEP_PCS_MAX: Final = 16
WITHDRAWALS_MAX: Final = 40


class DeviceEffect(StrEnum):
    """What a failure says about the device."""

    NONE = "none"
    FAILURE = "failure"
    CRASH = "crash"
    NEEDS_RESET = "needs_reset"
    SCREEN_LOCKED = "screen_locked"
    BATTERY_LOW = "battery_low"


class JobEffect(StrEnum):
    """What a failure says about the job."""

    NONE = "none"
    DEACTIVATE = "deactivate"
    NEED_AGE_VERIFIED = "need_age_verified"


class Rule(msgspec.Struct, frozen=True):
    """What follows from one kind of failure."""

    name: str
    code: str
    attempts: int
    """Attempts in total; 1 means no retry."""
    delay_s: float = 0.0
    delay_doubles: bool = False
    job: JobEffect = JobEffect.NONE
    device: DeviceEffect = DeviceEffect.FAILURE
    poisons: bool = True
    """Whether three devices that fail permanently with it mean a bad job."""

    def delay(self, failed: int) -> timedelta:
        """The delay before the retry after this many failures."""
        factor = 2 if self.delay_doubles else 1
        return Backoff(first_s=self.delay_s, max_s=RETRY_DELAY_MAX_S, factor=factor).pause(failed)


_TABLE: Final = (
    Rule("CONNECTION_FAILED", "E1001", 3, delay_s=5, delay_doubles=True),
    Rule("REQUEST_TIMEOUT", "E1002", 3, delay_s=5),
    Rule("RATE_LIMITED", "E1003", 3, delay_s=60),
    Rule("VIDEO_UNAVAILABLE", "E2001", 1, job=JobEffect.DEACTIVATE, device=DeviceEffect.NONE, poisons=False),
    Rule("VIDEO_REGION_BLOCKED", "E2002", 1, job=JobEffect.DEACTIVATE, device=DeviceEffect.NONE, poisons=False),
    Rule("VIDEO_AGE_RESTRICTED", "E2003", 1, job=JobEffect.NEED_AGE_VERIFIED, device=DeviceEffect.NONE, poisons=False),
    Rule("VIDEO_NETWORK_ERROR", "E2004", 3, delay_s=10),
    Rule("PLAYBACK_STALLED", "E2004", 3, delay_s=5),
    Rule("APP_CRASH", "E3001", 3, delay_s=5, device=DeviceEffect.CRASH),
    Rule("OUT_OF_MEMORY", "E3002", 1, device=DeviceEffect.NEEDS_RESET),
    # The retry waits until the phone is ready, not for a time. Neither means a bad job.
    Rule("SCREEN_LOCKED", "E3003", 3, device=DeviceEffect.SCREEN_LOCKED, poisons=False),
    Rule("BATTERY_LOW", "E3004", 1, device=DeviceEffect.BATTERY_LOW, poisons=False),
    Rule("UNKNOWN", "E4001", 2, delay_s=10),
    # Raised by the server itself.
    Rule("TIMEOUT", "TIMEOUT", 3),
    Rule("NETWORK_LOST", "NETWORK_LOST", 3),
    Rule("TASK_DEVICE_FAILED", "TASK_DEVICE_FAILED", 3),
)
_UNKNOWN: Final = next(rule for rule in _TABLE if rule.name == "UNKNOWN")
RULES: Final[dict[str, Rule]] = {}
"""Rules by name and by code. If two share a code, it means the first."""
for _rule in _TABLE:
    RULES.setdefault(_rule.name, _rule)
    RULES.setdefault(_rule.code, _rule)


def rule_of(code: str) -> Rule:
    """An unknown code has the rule `UNKNOWN`."""
    return RULES.get(code, _UNKNOWN)
