"""Computes the times of a cron expression, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from cronsim import CronSim, CronSimError

from drover.service.config import ConfigurationError

_SOME_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


class Schedule:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        try:
            next(CronSim(expression, _SOME_DAY))
        except (CronSimError, StopIteration) as error:  # such as 30 February
            problem = (
                f"DROVER_CLEANUP_CRON={expression} is not understood. It takes the five fields of cron, in UTC; for "
                "example DROVER_CLEANUP_CRON='0 * * * *'."
            )
            raise ConfigurationError((problem,)) from error

    def latest(self, now: datetime) -> datetime:
        """Return the last scheduled time that is not after `now`."""
        return next(CronSim(self._expression, now.replace(microsecond=0) + _SECOND, reverse=True))

    def following(self, now: datetime) -> datetime:
        return next(CronSim(self._expression, now))
