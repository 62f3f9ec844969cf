"""Limits and the table of faults (RN-12): what is retried, how often, after how long, and which alert it raises."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from drover.domain.backoff import Backoff

ARCHIVE_AFTER: Final = timedelta(hours=24)
"""How long an ended render stays in the state and can be run again."""
RECOVERIES_QUIET: Final = 3
"""A render that loses its worker more often than this raises an alert."""
OPEN_RENDERS_MAX: Final = 5_000
"""Renders that have not ended: the state holds the gfx_data of each."""
DEADLINES_PER_TICK_MAX: Final = 100
"""The rest fires at once in the next command. Each deadline causes only a few events."""
RETRY_DELAY_MAX: Final = timedelta(hours=1)
"""The longest delay, whatever the settings are."""
RENEWALS_PER_LEASE: Final = 3
"""How often a live worker renews within one lease."""
NO_WORKER_AFTER: Final = timedelta(seconds=300)
"""If a render waits this long without a sign of any worker, an alert is raised."""
STOP_CLAIM: Final = timedelta(seconds=60)
"""How long a worker's claim to stop a nexrender job lasts; then another worker may try."""
STOP_TRIES_MAX: Final = 20
ALERT_LIFETIME: Final = timedelta(hours=24)
"""An alert about a fault expires after this time; the next such fault raises it again."""
PROGRESS_STEP: Final = 10
"""Progress is recorded in steps of this size; values between them are telemetry."""
SEOUL: Final = timedelta(hours=9)
"""UTC offset for the broadcast date if a request names none. Korea has no daylight saving time."""


class Fault(StrEnum):
    """Faults of a render, as workers report them."""

    NEXRENDER_DOWN = "NEXRENDER_DOWN"
    """nexrender does not answer, or answers 5xx."""
    NEXRENDER_REFUSED = "NEXRENDER_REFUSED"
    """nexrender refuses: a wrong secret, or an invalid job."""
    TEMPLATE_MISSING = "TEMPLATE_MISSING"
    IMAGE_MISSING = "IMAGE_MISSING"
    """gfx_data names a picture that is not in the image folder."""
    MAPPING_MISSING = "MAPPING_MISSING"
    """No field of gfx_data has a layer in this composition."""
    GFX_DATA_UNREADABLE = "GFX_DATA_UNREADABLE"
    """gfx_data cannot be unsealed, or does not have the form of 003."""
    RENDER_ERROR = "RENDER_ERROR"
    """nexrender reports `error`."""
    RENDER_TIMEOUT = "RENDER_TIMEOUT"
    """It took more than 30 minutes in all. Raised by the clock."""
    RENDER_LOST = "RENDER_LOST"
    """nexrender no longer knows the job."""
    OUTPUT_INVALID = "OUTPUT_INVALID"
    NAS_AWAY = "NAS_AWAY"
    """The NAS is unreachable or full, or the file there differs from what was sent."""


class Again(StrEnum):
    """What a retry repeats."""

    STEP = "step"
    """The failed step, by the same worker, which keeps the render."""
    RENDER = "render"
    """The whole render, as a new nexrender job; the old one is stopped."""


class Rule(msgspec.Struct, frozen=True):
    """One row of the table. The first try is not counted as a retry."""

    retries: int = 0
    delay_s: float = 0
    factor: int = 1
    """Factor by which each delay grows."""
    again: Again = Again.STEP
    alert: str = "render_failed"
    """Kind of the alert after the last retry: a failed render waits until somebody runs it again."""
    about: str = "render"
    """Subject of the alert: `render`, `composition`, or a fixed word."""

    def delay(self, number: int) -> timedelta:
        backoff = Backoff(first_s=self.delay_s, max_s=RETRY_DELAY_MAX.total_seconds(), factor=self.factor)
        return backoff.pause(number)


class Policy(msgspec.Struct, frozen=True):
    """Values that an operator can set. Only decisions use them: events record the results."""

    lease_s: float = 1800
    render_timeout_s: float = 1800
    retries: int = 3
    retry_base_s: float = 60

    def rule(self, fault: Fault) -> Rule:
        if fault is Fault.NEXRENDER_DOWN:
            return Rule(self.retries, self.retry_base_s, 2, alert="nexrender_down", about="nexrender")
        return RULES[fault]


RULES: Final[dict[Fault, Rule]] = {
    Fault.NEXRENDER_REFUSED: Rule(alert="nexrender_refused", about="nexrender"),
    Fault.TEMPLATE_MISSING: Rule(alert="template_missing", about="composition"),
    Fault.IMAGE_MISSING: Rule(),
    Fault.MAPPING_MISSING: Rule(alert="mapping_missing", about="composition"),
    Fault.GFX_DATA_UNREADABLE: Rule(alert="gfx_data_unreadable"),
    Fault.RENDER_ERROR: Rule(),
    Fault.RENDER_TIMEOUT: Rule(retries=2, again=Again.RENDER, alert="render_timeout"),
    Fault.RENDER_LOST: Rule(retries=2, again=Again.RENDER),
    Fault.OUTPUT_INVALID: Rule(retries=2, delay_s=60),
    Fault.NAS_AWAY: Rule(retries=3, delay_s=30, alert="nas_away", about="nas"),
}
"""All faults except `NEXRENDER_DOWN`, whose values an operator can set."""
