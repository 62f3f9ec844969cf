"""`/api/series`: how the farm was over a range of time, for charts. It says where nothing was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from drover.api.reads.endpoint import Endpoint, Question, Subject, reads
from drover.api.reads.parameters import bad_parameter, moment, one_of
from drover.api.reads.queries import QUERIES

PATH: Final = "/api/series"
CONTEXT: Final = "fleet"


class Range(msgspec.Struct, frozen=True):
    length: timedelta
    step: timedelta

    @property
    def steps(self) -> int:
        return self.length // self.step


def _range(step_min: int, **length: int) -> Range:
    return Range(timedelta(**length), timedelta(minutes=step_min))


RANGES: Final = {
    "15m": _range(1, minutes=15),
    "1h": _range(1, hours=1),
    "6h": _range(5, hours=6),
    "24h": _range(15, hours=24),
    "7d": _range(120, days=7),
    "30d": _range(360, days=30),
}
"""By name, how long each range is, and its steps: 15 to 120 of them, as many as a chart has room for."""


class AttemptSteps(msgspec.Struct):
    """Attempts of phones in each step; null if nothing was recorded in it."""

    started: list[int | None]
    succeeded: list[int | None]
    failed: list[int | None]
    """Failed or timed out, whether or not other attempts followed."""
    rolled_back: list[int | None]
    wait_s: list[float | None]
    """Mean seconds from offer to start of an attempt; null for a step in which none started."""
    run_s: list[float | None]
    """Mean seconds from start to success of an attempt; null for a step in which none succeeded."""


class PhoneSteps(msgspec.Struct):
    """The mean number of phones by status in each step; null if it was not measured."""

    online: list[int | None]
    busy: list[int | None]
    offline: list[int | None]
    error: list[int | None]


class Restart(msgspec.Struct):
    """The scheduler started, or another one took over."""

    at: datetime
    by: str
    """The instance that leads from here on."""


class FarmSeries(msgspec.Struct):
    """Figures over a range of time. Every list has one value for each step, oldest first."""

    start: datetime
    """Where the first step begins."""
    step_s: int
    minutes: list[int]
    """In how many minutes of each step something was recorded. 0: the platform was off, or its database was."""
    attempts: AttemptSteps
    phones: PhoneSteps
    lag_s: list[float | None]
    """The largest lag of a read model behind its log."""
    restarts: list[Restart]
    """Oldest first, those of the last minute included. If there were more than 200, only the newest."""


def window(range_: Range, to: datetime) -> tuple[datetime, datetime]:
    """Return where the range begins and ends. It ends with the last full minute, so that every step is complete."""
    end = to.replace(second=0, microsecond=0)
    return end - range_.length, end


_RANGE_KIND: Final = one_of("range", [*RANGES], "How far back; default: 1h.")
_TO: Final = moment("to", "The end of the range; default: now.")


class FarmSeriesReads(Subject):
    def __init__(self, endpoint: Endpoint, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(endpoint)
        self._now = now

    @reads(
        PATH,
        id="getSeries",
        tag="operations",
        summary="Attempts, phones and lag over a range of time, with gaps and restarts",
        answer=FarmSeries,
        contexts=(CONTEXT,),
        kinds=(_RANGE_KIND, _TO),
    )
    async def get(self, question: Question) -> FarmSeries:
        asked, models = question.asked, self._endpoint.models
        range_ = RANGES[asked["range"] or "1h"]
        to = asked["to"] or self._now()
        try:
            start, end = window(range_, to)
        except OverflowError:
            raise bad_parameter("to", question.request.query["to"], "it is too early") from None
        step_s = int(range_.step.total_seconds())
        where = (start, end, step_s)
        attempts = await models.fetch(CONTEXT, QUERIES["steps_of_attempts"], *where)
        samples = await models.ask(QUERIES["steps_of_samples"], *where)
        minutes = await models.fetch(CONTEXT, QUERIES["recorded_minutes"], *where)
        terms = await models.fetch(CONTEXT, QUERIES["fleet_terms"], start, to)
        recorded = [row or 0 for row in _line(range_.steps, minutes, "minutes")]
        return FarmSeries(
            start,
            step_s,
            recorded,
            _attempts(recorded, attempts),
            PhoneSteps(*(_line(range_.steps, samples, status) for status in PhoneSteps.__struct_fields__)),
            [None if lag is None else lag / 1000 for lag in _line(range_.steps, samples, "lag_ms")],
            [Restart(row["at"], row["holder"]) for row in reversed(terms)],
        )


def _line(steps: int, rows: Iterable[Any], column: str) -> list[int | None]:
    by_step = {row["step"]: row[column] for row in rows}
    return [by_step.get(step) for step in range(steps)]


def _attempts(recorded: Sequence[int], rows: Sequence[Any]) -> AttemptSteps:
    def counts(column: str) -> list[int | None]:
        line = _line(len(recorded), rows, column)
        return [(count or 0) if minutes else None for count, minutes in zip(line, recorded, strict=True)]

    return AttemptSteps(
        started=counts("started"),
        succeeded=counts("succeeded"),
        failed=counts("failed"),
        rolled_back=counts("rolled_back"),
        wait_s=_means(counts("waited_ms"), counts("started")),
        run_s=_means(counts("ran_ms"), counts("succeeded")),
    )


def _means(sums_ms: Sequence[int | None], counts: Sequence[int | None]) -> list[float | None]:
    return [
        round(sum_ms / count / 1000, 3) if sum_ms is not None and count else None
        for sum_ms, count in zip(sums_ms, counts, strict=True)
    ]
