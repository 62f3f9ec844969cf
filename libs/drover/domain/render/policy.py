"""Limits of the render queue, and its table of faults (requirement RN-12): what is retried, how often, after how long,
and which alert is raised."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from drover.domain.backoff import Backoff

ARCHIVE_AFTER: Final = timedelta(hours=24)
"""How long an ended render stays in the state, unless too many have ended since. Within this time it can be run
again."""
PAST_RENDERS_MAX: Final = 5_000
"""How many ended renders the state remembers, besides those that ended within `KEPT_AT_LEAST`."""
RECOVERIES_QUIET: Final = 3
"""How often a render may lose its worker before an alert is raised."""
OPEN_RENDERS_MAX: Final = 5_000
"""The maximum number of renders that have not ended, because the state holds the gfx_data of each. Further ones are
refused."""
DEADLINES_PER_TICK_MAX: Final = 100
"""The maximum number of deadlines that one tick fires. The next tick, which follows at once, fires the rest."""
RETRY_DELAY_MAX: Final = timedelta(hours=1)
"""The longest delay before a retry, whatever the settings are."""
RENEWALS_PER_LEASE: Final = 3
"""How often a live worker renews its lease during the time of one lease."""
NO_WORKER_AFTER: Final = timedelta(seconds=300)
"""If a render waits this long without a sign of any worker, an alert is raised."""
STOP_CLAIM: Final = timedelta(seconds=60)
"""How long a worker's claim to stop a nexrender job lasts; then another worker may try."""
STOP_TRIES_MAX: Final = 20
ALERT_LIFETIME: Final = timedelta(hours=24)
"""An alert about a fault expires after this time; the next such fault raises it again."""
PROGRESS_STEP: Final = 10
"""Progress is recorded only at multiples of this number of percent; values between them are telemetry."""
SEOUL: Final = timedelta(hours=9)
"""The UTC offset by which the broadcast date is computed if a request has none. Korea has no daylight saving time."""


class Fault(StrEnum):
    """Faults of a render. Workers report them, except `RENDER_TIMEOUT`."""

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
    """gfx_data cannot be unsealed, or does not have the form that document 003 (the render queue) defines."""
    RENDER_ERROR = "RENDER_ERROR"
    """nexrender reports `error`."""
    RENDER_TIMEOUT = "RENDER_TIMEOUT"
    """The render took longer than `Policy.render_timeout_s` in all. The clock raises this fault, not a worker."""
    RENDER_LOST = "RENDER_LOST"
    """nexrender no longer knows the job."""
    OUTPUT_INVALID = "OUTPUT_INVALID"
    NAS_AWAY = "NAS_AWAY"
    """The NAS is unreachable or full, or the file there differs from what was sent."""
    WORKER_FAILED = "WORKER_FAILED"
    """An external worker reported a failure. It has already retried by itself."""


class Again(StrEnum):
    """What is repeated by a retry."""

    STEP = "step"
    """Retry the failed step. The same worker does so and keeps the render."""
    RENDER = "render"
    """Retry the whole render as a new nexrender job. The old job is stopped."""


class Rule(msgspec.Struct, frozen=True):
    """One row of the table of faults. The first try is not counted as a retry."""

    retries: int = 0
    delay_s: float = 0
    factor: int = 1
    """By what factor the delay grows with each retry."""
    again: Again = Again.STEP
    alert: str = "render_failed"
    """The kind of the alert that is raised after the last retry. A failed render waits until somebody runs it again."""
    about: str = "render"
    """The subject of the alert: `render` or `composition` for the id of the render or composition, else a fixed
    word."""

    def delay(self, number: int) -> timedelta:
        backoff = Backoff(first_s=self.delay_s, max_s=RETRY_DELAY_MAX.total_seconds(), factor=self.factor)
        return backoff.pause(number)


class Policy(msgspec.Struct, frozen=True):
    """Values that an operator can set. Only new decisions use them; a change does not affect recorded events."""

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
    Fault.WORKER_FAILED: Rule(),
    Fault.NAS_AWAY: Rule(retries=3, delay_s=30, alert="nas_away", about="nas"),
}
"""The rules of all faults except `NEXRENDER_DOWN`, whose values an operator can set."""
