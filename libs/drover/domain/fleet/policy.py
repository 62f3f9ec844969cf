"""The fleet's limits, patterns and table of error codes, from documents 000 (phone farm) and 002 (operations queue)."""

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
MESSAGE_BYTES_MAX: Final = 4000
"""Maximum size of error messages and activity stacks, in UTF-8. Longer ones are cut, to keep decisions within their
bound."""
REFERENCE_BYTES_MAX: Final = 1000
"""Maximum size of a reference to a screenshot, in UTF-8."""

PC_CAPACITY_DEFAULT: Final = 20
PC_CAPACITY_MAX: Final = 20
DEVICES_PER_PC_MAX: Final = 200
"""The maximum number of devices of one PC; further ones are refused. It bounds how many devices one decision checks."""

OPEN_JOBS_MAX: Final = 1_000
TARGET_DEVICES_MAX: Final = 1_000
TARGET_COUNT_MAX: Final = 1_000_000
PRIORITY_MAX: Final = 100
"""Priorities of jobs are between this number and its negative."""
PROBABILITIES_SUM_MAX: Final = 300
"""The maximum sum of a job's three probabilities, in percent (rule V002). No job can exceed it today, because each of
the three is checked first to be at most 100. It is kept in case a range grows or a fourth one is added."""

OFFLINE_AFTER_S: Final = 30.0
"""An online device without a sign of life for this long becomes offline."""
SILENT_AFTER_S: Final = 60.0
"""A busy device without a sign of life for this long loses its work."""
STALLED_AFTER_S: Final = 120.0
"""An attempt whose progress has not changed for this long is treated as stalled. Advertisements are excepted: see
`AD_HOLDS_S`."""
AD_HOLDS_S: Final = 300.0
"""For how many seconds in total advertisements may stop the progress of one attempt without counting toward a stall."""
CHARGED_PCT: Final = 20
"""A device that is in error because of a low battery gets work again from this charge on, in percent."""

ATTEMPTS_MAX: Final = 3
DURATION_S_MAX: Final = 7 * 86_400
"""The longest duration of an attempt that an agent may report."""
RETRY_DELAY_MAX_S: Final = 600
RUN_MAX: Final = 1_000_000_000
OFFER_TAKEN_WITHIN: Final = timedelta(seconds=90)
OFFER_ACKED_WITHIN: Final = timedelta(seconds=60)
ATTEMPT_TIMEOUT: Final = timedelta(minutes=20)
TIMEOUT_MESSAGE: Final = "Task device timeout: exceeded 20 minutes"
CRASHED_MESSAGE: Final = "YouTube app crashed 3 times consecutively"

HOLD: Final = Backoff(first_s=5 * 60, max_s=80 * 60)
"""How long a device gets no offers after it did not fetch or did not start one. The time doubles with each such offer
in a row."""
UNTAKEN_ALERT_AT: Final = 3
ROLLBACKS_MAX: Final = 3
"""The third time that running work of one assignment is taken back (its device fell silent, or its agent gave it back),
it counts as a failed attempt. The times before use up no attempt."""

FAILURES_IN_A_ROW_MAX: Final = 3
CRASHES_IN_A_ROW_MAX: Final = 3
ERROR_LASTS: Final = timedelta(minutes=60)
CRASH_ERROR_LASTS: Final = timedelta(minutes=30)

POISON_DEVICES: Final = 3
END_REPORTS_MIN: Final = 2
"""How many devices must report that no device can do a job before the job ends for all devices. A farm of one device
has no second one, so there one is enough."""
HOST_FAILING_WITHIN: Final = timedelta(minutes=10)
HOST_DEVICES_MIN: Final = 3
"""How many phones of a PC must fail before the PC is blamed for it: one or two prove nothing about their PC."""
HOST_HOLD: Final = timedelta(minutes=10)
HOST_SILENT_WITHIN: Final = timedelta(hours=1)
"""When the last phone of a PC falls silent, the alert about the PC counts only phones that fell silent within this
time."""
HOST_SILENT_DEVICES_MIN: Final = 2
"""How many phones of a PC must fall silent before an alert about the PC is raised: one proves nothing about its PC."""
THROTTLE_ALERT_LASTS: Final = timedelta(minutes=5)

JOB_LIVES: Final = timedelta(hours=24)
"""An open job expires this long after its creation, or after the time that it was scheduled for."""
SCHEDULED_AHEAD_MAX: Final = timedelta(days=30)
"""How far ahead a job may be scheduled."""
ARCHIVE_AFTER: Final = timedelta(hours=24)
"""How long the state remembers an ended job with its assignments, unless too many have ended since."""
PAST_JOBS_MAX: Final = 1_000
"""How many ended jobs the state remembers, besides those that ended within `KEPT_AT_LEAST`. Deactivated jobs, which may
be opened again, are counted apart from the others, with the same maximum."""
PAST_ASSIGNMENTS_MAX: Final = 50_000
"""How many assignments of ended jobs the state remembers. The same exceptions hold as for `PAST_JOBS_MAX`."""
TAKEN_BACK_MAX: Final = 1_000
"""The maximum number of assignments of one job that were taken back and that the state still remembers."""

FOLLOW_UP_EVENTS_MAX: Final = 180
"""The maximum number of events that may follow from one command; ticks do the rest of the work. At about 480 bytes
each, they and the longest command stay within the size limit of a decision."""
SWEEP_PCS_MAX: Final = 16
WITHDRAWALS_MAX: Final = 40


class DeviceEffect(StrEnum):
    """What a failure means for its device."""

    NONE = "none"
    FAILURE = "failure"
    CRASH = "crash"
    NEEDS_RESET = "needs_reset"
    SCREEN_LOCKED = "screen_locked"
    BATTERY_LOW = "battery_low"


class JobEffect(StrEnum):
    """What a failure means for its job."""

    NONE = "none"
    DEACTIVATE = "deactivate"
    NEED_AGE_VERIFIED = "need_age_verified"


class Rule(msgspec.Struct, frozen=True):
    """The consequences of one kind of failure."""

    name: str
    code: str
    attempts: int
    """How many attempts an assignment gets in total with this failure; 1 means no retry."""
    delay_s: float = 0.0
    delay_doubles: bool = False
    job: JobEffect = JobEffect.NONE
    device: DeviceEffect = DeviceEffect.FAILURE
    poisons: bool = True
    """Whether a job is paused as bad when three devices fail for good with this rule."""

    def delay(self, failed: int) -> timedelta:
        """Return the pause before the next attempt, after this many failed attempts."""
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
    # After these two, the retry waits until the phone is ready, not for a time. Neither means that the job is bad.
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
"""The rules by name and by error code. If two rules share a code, the code gives the first one."""
for _rule in _TABLE:
    RULES.setdefault(_rule.name, _rule)
    RULES.setdefault(_rule.code, _rule)


def rule_of(code: str) -> Rule:
    """Return the rule of an error code; `UNKNOWN` if no rule has this code."""
    return RULES.get(code, _UNKNOWN)
