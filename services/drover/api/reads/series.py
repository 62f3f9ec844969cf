"""Counts per minute over the last hour, for charts: one list of numbers per line of a chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

MINUTES: Final = 60
MINUTE: Final = timedelta(minutes=1)


class AttemptSeries(msgspec.Struct):
    """Attempts of phones per minute. Every list has one number for each minute of `minutes`."""

    started: list[int]
    succeeded: list[int]
    failed: list[int]
    """The number of attempts that failed, whether or not others follow. Time-outs are counted separately."""
    timed_out: list[int]
    failed_final: list[int]
    """The number of assignments that failed for good."""
    rolled_back: list[int]
    wait_s: list[float | None]
    """Mean seconds from offer to start of an attempt; null for a minute in which none started."""
    run_s: list[float | None]
    """Mean seconds from start to success of an attempt; null for a minute in which none succeeded."""


class EndSeries(msgspec.Struct):
    """Renders or analyses that ended, per minute."""

    completed: list[int]
    failed: list[int]


class SendSeries(msgspec.Struct):
    """Sendings of reminders, per minute."""

    sent: list[int]
    failed: list[int]


class Series(msgspec.Struct):
    minutes: list[datetime]
    """The start times of the 60 minutes, oldest first. The last minute is not over yet."""
    attempts: AttemptSeries
    renders: EndSeries
    analyses: EndSeries
    reminders: SendSeries


def last_hour(now: datetime) -> list[datetime]:
    this = now.replace(second=0, microsecond=0)
    return [this - MINUTE * back for back in range(MINUTES - 1, -1, -1)]


def attempt_series(minutes: list[datetime], rows: Iterable[Any]) -> AttemptSeries:
    by_minute = {row["minute"]: row for row in rows}

    def line(column: str) -> list[int]:
        return [by_minute[minute][column] if minute in by_minute else 0 for minute in minutes]

    return AttemptSeries(
        started=line("started"),
        succeeded=line("succeeded"),
        failed=line("failed"),
        timed_out=line("timed_out"),
        failed_final=line("failed_final"),
        rolled_back=line("rolled_back"),
        wait_s=_means(line("waited_ms"), line("started")),
        run_s=_means(line("ran_ms"), line("succeeded")),
    )


def lines_by_state(minutes: list[datetime], rows: Iterable[Any], states: Mapping[str, str]) -> dict[str, list[int]]:
    """Turn rows of minute, state and count into one list of counts per state. `states`: for each name in the answer,
    the state in the table."""
    counts = {(row["minute"], row["state"]): row["count"] for row in rows}
    return {name: [counts.get((minute, state), 0) for minute in minutes] for name, state in states.items()}


def _means(sums_ms: list[int], counts: list[int]) -> list[float | None]:
    return [round(sum_ms / count / 1000, 3) if count else None for sum_ms, count in zip(sums_ms, counts, strict=True)]
