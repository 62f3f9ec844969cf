"""Numbers and the table of faults (RN-12): what is tried again, how often, after how long, and who must hear of it."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from drover.domain.backoff import Backoff

ARCHIVE_AFTER: Final = timedelta(hours=24)
"""How long an ended render stays in the state, where it can be run again."""
RECOVERIES_QUIET: Final = 3
"""A render that lost its worker more often than this raises an alert."""
OPEN_RENDERS_MAX: Final = 5_000
"""That have not ended: each has its gfx_data in the state."""
DEADLINES_PER_TICK_MAX: Final = 100
"""The rest is due at once, in the next command. Each is a few events at most."""
RETRY_DELAY_MAX: Final = timedelta(hours=1)
"""However the numbers are set."""
RENEWALS_PER_LEASE: Final = 3
"""How often a worker that is alive renews its lease before it would lapse."""
NO_WORKER_AFTER: Final = timedelta(seconds=300)
"""A render that waits for so long without a sign of any worker raises an alert."""
STOP_CLAIM: Final = timedelta(seconds=60)
"""A worker that was to stop a job at nexrender and has not said so after this long is not waited for."""
STOP_TRIES_MAX: Final = 20
ALERT_LIFETIME: Final = timedelta(hours=24)
"""An alert about a fault is over by itself after this long; the next one like it raises it again."""
PROGRESS_STEP: Final = 10
"""Progress is recorded at each of these steps; what lies between is telemetry."""
SEOUL: Final = timedelta(hours=9)
"""Where a broadcast's day begins, when the request does not say which day it is for. Korea has no summer time."""


class Fault(StrEnum):
    """What can go wrong with a render, as workers report it."""

    NEXRENDER_DOWN = "NEXRENDER_DOWN"
    """It does not answer, or with 5xx."""
    NEXRENDER_REFUSED = "NEXRENDER_REFUSED"
    """It answers that it will not: a wrong secret, a job that it finds invalid."""
    TEMPLATE_MISSING = "TEMPLATE_MISSING"
    MAPPING_MISSING = "MAPPING_MISSING"
    """Nothing of gfx_data has a layer in this composition."""
    GFX_DATA_UNREADABLE = "GFX_DATA_UNREADABLE"
    """It cannot be unsealed, or it is not what 003 describes."""
    RENDER_ERROR = "RENDER_ERROR"
    """nexrender says `error`."""
    RENDER_TIMEOUT = "RENDER_TIMEOUT"
    """30 minutes in all. Fired by the clock."""
    RENDER_LOST = "RENDER_LOST"
    """nexrender does not know the job any more."""
    OUTPUT_INVALID = "OUTPUT_INVALID"
    NAS_AWAY = "NAS_AWAY"
    """Unreachable, full, or what arrived there is not what was sent."""


class Again(StrEnum):
    """What is done once more."""

    STEP = "step"
    """What failed, by the same worker, which keeps the render meanwhile."""
    RENDER = "render"
    """All of it, as a new job at nexrender; the old one is stopped."""


class Rule(msgspec.Struct, frozen=True):
    """One row of the table. Retries are those after the first try."""

    retries: int = 0
    delay_s: float = 0
    factor: int = 1
    """By how much each delay is longer than the one before."""
    again: Again = Again.STEP
    alert: str = "render_failed"
    """Kind of the alert when it is final: a failed render waits for somebody to run it again."""
    about: str = "render"
    """Subject of that alert: `render`, `composition`, or a fixed word."""

    def delay(self, number: int) -> timedelta:
        backoff = Backoff(first_s=self.delay_s, max_s=RETRY_DELAY_MAX.total_seconds(), factor=self.factor)
        return backoff.pause(number)


class Policy(msgspec.Struct, frozen=True):
    """What can be set. Only decisions look at it: whatever follows from it stands in the events."""

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
    Fault.MAPPING_MISSING: Rule(alert="mapping_missing", about="composition"),
    Fault.GFX_DATA_UNREADABLE: Rule(alert="gfx_data_unreadable"),
    Fault.RENDER_ERROR: Rule(),
    Fault.RENDER_TIMEOUT: Rule(retries=2, again=Again.RENDER, alert="render_timeout"),
    Fault.RENDER_LOST: Rule(retries=2, again=Again.RENDER),
    Fault.OUTPUT_INVALID: Rule(retries=2, delay_s=60),
    Fault.NAS_AWAY: Rule(retries=3, delay_s=30, alert="nas_away", about="nas"),
}
"""All but `NEXRENDER_DOWN`, whose numbers can be set."""
