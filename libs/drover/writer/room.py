"""Knows whether the log of a partition is full, since when, and when to try again whether there is room."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog

from drover.domain.backoff import Backoff, Retries
from drover.eventlog.log import LogFull, Partition
from drover.writer import metrics, refusals
from drover.writer.clock import Clock
from drover.writer.refusals import Refusal

LOOK: Final = Backoff(first_s=1.0, max_s=15.0)
"""The pauses between two tries of a writer to write to a full log."""

log = structlog.get_logger("drover.writer")


class Room:
    def __init__(self, partition: Partition, clock: Clock) -> None:
        self._partition = partition
        self._clock = clock
        self._full: tuple[datetime, str] | None = None
        """Since when the log has been full, and the reason in its last answer. None: it is not full."""
        self._retries = Retries(LOOK)
        self._look_at_s = float("-inf")
        """When to try again, on the monotonic clock."""

    @property
    def is_full(self) -> bool:
        return self._full is not None

    @property
    def refusal(self) -> Refusal | None:
        return refusals.log_full(self._partition, *self._full) if self._full is not None else None

    @property
    def look_in_s(self) -> float:
        """How many seconds are left until the next try."""
        return max(self._look_at_s - self._clock.elapsed_s(), 0.0)

    def refused(self, full: LogFull) -> None:
        """Note that the log refused a commit."""
        since = self._full[0] if self._full is not None else self._clock.now()
        if self._full is None:
            log.error("log_full", partition=str(self._partition), reason=full.reason, alert=True)
            self._show(1)
        self._full = since, full.reason
        self._look_at_s = self._clock.elapsed_s() + self._retries.failed()

    def found(self) -> None:
        """Note that a try succeeded: the log has stored a small commit. There may be no room for larger ones, so the
        pauses between tries become short again only after `used`."""
        assert self._full is not None
        full_s = (self._clock.now() - self._full[0]).total_seconds()
        log.info("log_has_room", partition=str(self._partition), full_s=round(full_s))
        self._full = None
        self._show(0)

    def used(self) -> None:
        """Note that a commit of commands was stored."""
        self._retries.succeeded()

    def _show(self, value: int) -> None:
        metrics.READ_ONLY.labels(self._partition.context, self._partition.name).set(value)
