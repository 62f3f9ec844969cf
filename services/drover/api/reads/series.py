"""Figures by the minute over the last hour, as charts want them: one list of numbers for each line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

MINUTES: Final = 60
MINUTE: Final = timedelta(minutes=1)


class AttemptSeries(msgspec.Struct):
    """Of phones. Every list has a number for each minute of `minutes`."""

    started: list[int]
    succeeded: list[int]
    failed: list[int]
    """Attempts that failed, for good or not; timeouts are counted by themselves."""
    timed_out: list[int]
    failed_final: list[int]
    """Assignments that failed for good."""
    rolled_back: list[int]
    wait_s: list[float | None]
    """Mean time from the offer to the start; null where nothing started."""
    run_s: list[float | None]
    """Mean time from the start to success; null where nothing succeeded."""


class EndSeries(msgspec.Struct):
    """Of renders and analyses."""

    completed: list[int]
    failed: list[int]


class SendSeries(msgspec.Struct):
    """Of reminders."""

    sent: list[int]
    failed: list[int]


class Series(msgspec.Struct):
    minutes: list[datetime]
    """When each of the 60 minutes begins, the oldest first. The last one is not over yet."""
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
    """Rows of minute, state and count, as a line for each state. `states`: what the table calls each line."""
    counts = {(row["minute"], row["state"]): row["count"] for row in rows}
    return {name: [counts.get((minute, state), 0) for minute in minutes] for name, state in states.items()}


def _means(sums_ms: list[int], counts: list[int]) -> list[float | None]:
    return [round(sum_ms / count / 1000, 3) if count else None for sum_ms, count in zip(sums_ms, counts, strict=True)]
