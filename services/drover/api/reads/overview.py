"""`/api/overview`: what is running, waiting and failing, for the first page of the dashboard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from drover.api.reads.alerts import ALERTS, Alert
from drover.api.reads.endpoint import Endpoint, Question, Subject, reads
from drover.api.reads.parameters import Asked
from drover.api.reads.queries import QUERIES
from drover.api.reads.series import (
    AttemptSeries,
    EndSeries,
    SendSeries,
    Series,
    attempt_series,
    last_hour,
    lines_by_state,
)
from drover.api.reads.system import PartitionState, SystemReader
from drover.domain.contexts import CONTEXTS
from drover.domain.fleet.state import DeviceStatus, JobStatus, Phase
from drover.projection.positions import MIN_POSITION_HEADER

PATH: Final = "/api/overview"
KEPT_S: Final = 1.0
"""How many seconds an answer is cached, so that many dashboards of a quiet farm cost as much as one. A commit, or a
request that names a position, makes a new answer."""
OPEN_ALERTS_MAX: Final = 20


class AlertSummary(msgspec.Struct):
    open: int
    newest: list[Alert]
    """The newest open alerts, at most 20."""


class Overview(msgspec.Struct):
    """Counts by state: all that has not ended, and what ended within the last day."""

    at: datetime
    devices: dict[str, int]
    """The number of devices that are `online`, `offline`, `busy` and `error`."""
    jobs: dict[str, int]
    """The number of jobs that are `created`, `active` and `paused`, and of those that became `completed`, `expired`,
    `deactivated` or `cancelled` within a day."""
    assignments: dict[str, int]
    """The number of assignments that are `waiting`, `offered`, `sent`, `running` and `retrying`, and of those that
    became `completed` or `failed` within a day."""
    renders: dict[str, int]
    """The number of renders by status; ended ones only if they ended within a day."""
    analyses: dict[str, int]
    """The number of analyses that are `processing`, and of those that became `completed` or `failed` within a day."""
    alarms: dict[str, int]
    """The number of alarms that are `due`, `in_hand` (being sent, or sent with an unknown outcome) and `failing`, and
    of those due in the `next_day`, counted up to 10,000."""
    alerts: AlertSummary
    last_hour: Series
    partitions: list[PartitionState]
    """The partitions, with their leaders and the lag of their read models."""


class Overviews(Subject):
    def __init__(
        self,
        endpoint: Endpoint,
        system: SystemReader,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(endpoint)
        self._system = system
        self._now = now
        self._clock = clock
        self._kept: Overview | None = None
        self._kept_at = float("-inf")
        self._kept_shows: dict[str, int] = {}
        """The commits that `_kept` shows, by partition."""
        self._reached: dict[str, int] = {}
        """The newest commits that the read models have shown to any request, by partition."""
        self._looking = asyncio.Lock()

    @reads(
        PATH,
        id="getOverview",
        tag="operations",
        summary="What is running, waiting and failing",
        answer=Overview,
        contexts=CONTEXTS,
    )
    async def get(self, question: Question) -> Overview:
        if MIN_POSITION_HEADER in question.request.headers:
            return await self._look()
        wanted = question.awaited.shows
        for place, seq in wanted.items():
            self._reached[place] = max(seq, self._reached.get(place, 0))
        async with self._looking:  # requests that waited share the result of the first of them
            if self._kept is None or self._clock() - self._kept_at >= KEPT_S or not self._shows(wanted):
                shows = dict(self._reached)
                self._kept = await self._look()
                self._kept_shows, self._kept_at = shows, self._clock()
            return self._kept

    def _shows(self, wanted: Mapping[str, int]) -> bool:
        return all(self._kept_shows.get(place, 0) >= seq for place, seq in wanted.items())

    async def _look(self) -> Overview:
        now = self._now()
        ended = await self._endpoint.models.fetch_one("fleet", QUERIES["count_ended_attempts"])
        return Overview(
            at=now,
            devices=dict.fromkeys(DeviceStatus, 0) | await self._counts("fleet", "count_devices"),
            jobs=dict.fromkeys(JobStatus, 0) | await self._counts("fleet", "count_jobs"),
            assignments=dict.fromkeys(Phase, 0)
            | await self._counts("fleet", "count_assignments")
            | (dict(ended) if ended else {"completed": 0, "failed": 0}),
            renders=await self._counts("render", "count_renders"),
            analyses=await self._counts("analysis", "count_analyses"),
            alarms=await self._counts("reminder", "count_alarms"),
            alerts=await self._alerts(),
            last_hour=await self._last_hour(now),
            partitions=(await self._system.partitions()).partitions,
        )

    async def _counts(self, context: str, query: str) -> dict[str, int]:
        return {row["state"]: row["count"] for row in await self._endpoint.models.fetch(context, QUERIES[query])}

    async def _alerts(self) -> AlertSummary:
        counts = await self._endpoint.models.fetch_united(CONTEXTS, _open_alerts)
        newest = await ALERTS.page(self._endpoint.models, Asked({"open": True, "limit": OPEN_ALERTS_MAX}))
        return AlertSummary(sum(row["count"] for row in counts), newest.items)

    async def _last_hour(self, now: datetime) -> Series:
        minutes = last_hour(now)

        async def rows(context: str, query: str) -> list[Any]:
            return await self._endpoint.models.fetch(context, QUERIES[query], minutes[0])

        ended = {"completed": "completed", "failed": "failed"}
        attempts: AttemptSeries = attempt_series(minutes, await rows("fleet", "minutes_of_attempts"))
        renders = lines_by_state(minutes, await rows("render", "minutes_of_renders"), ended)
        analyses = lines_by_state(minutes, await rows("analysis", "minutes_of_analyses"), ended)
        sent = {"sent": "SENT", "failed": "FAILED"}
        reminders = lines_by_state(minutes, await rows("reminder", "minutes_of_reminders"), sent)
        return Series(minutes, attempts, EndSeries(**renders), EndSeries(**analyses), SendSeries(**reminders))


def _open_alerts(contexts: Any) -> tuple[str, list[Any]]:
    return " UNION ALL ".join(QUERIES["count_open_alerts"].format(context=context) for context in contexts), []
