"""Metrics computed from the read models: devices, work, alerts and overdue alarms. Renders have their own module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import asyncpg
import msgspec
import structlog
from prometheus_client.metrics_core import GaugeMetricFamily

from drover.domain.contexts import CONTEXTS
from drover.domain.severity import severity_of
from drover.postgres.errors import POSTGRES_AWAY
from drover.postgres.pool import Pool
from drover.projection.readable import contexts_being_built
from drover.readmodel.form import contexts_in, placed
from drover.service.figures import Figures

QUERY_S: Final = 5.0

log = structlog.get_logger("drover.projector")

_DEVICES: Final = """
SELECT s.status, count(d.id) AS value
FROM unnest(ARRAY['online', 'busy', 'offline', 'error']) AS s (status)
LEFT JOIN rm_fleet.devices d ON d.status = s.status GROUP BY s.status
"""
_JOBS: Final = """
SELECT s.status, count(j.id) AS value
FROM unnest(ARRAY['created', 'active', 'paused']) AS s (status)
LEFT JOIN rm_fleet.job_rows j ON j.status = s.status GROUP BY s.status
"""
_ASSIGNMENTS: Final = """
SELECT w.state, w.value
FROM (
  SELECT coalesce(sum(pending), 0) AS pending, coalesce(sum(running), 0) AS running,
         coalesce(sum(retrying), 0) AS retrying
  FROM rm_fleet.job_rows WHERE status IN ('created', 'active', 'paused')
) AS j
CROSS JOIN LATERAL (VALUES ('pending', j.pending), ('running', j.running), ('retrying', j.retrying)) AS w (state, value)
"""
_ALERTS: Final = """
SELECT '{0}' AS context, kind, count(*) AS value FROM rm_{0}.alert_rows WHERE resolved_at IS NULL GROUP BY kind
"""
_CLEANUP: Final = "SELECT extract(epoch FROM max(finished_at)) AS value FROM rm_analysis.run_rows"
_OVERDUE: Final = """
SELECT coalesce((
  SELECT extract(epoch FROM now() - next_alarm_time) FROM rm_reminder.alarm_rows
  WHERE next_alarm_time < now() AND processed_at IS NULL AND retry_at IS NULL
  ORDER BY next_alarm_time LIMIT 1
), 0) AS value
"""
_SIZE: Final = "SELECT pg_database_size(current_database()) AS value"


class Figure(msgspec.Struct, frozen=True):
    name: str
    help: str
    labels: tuple[str, ...]
    queries: tuple[str, ...]
    """SQL queries. Each returns rows with the labels and a `value`, or nothing while its tables do not exist."""
    derived: Callable[[Any], dict[str, str]] = lambda row: {}
    """Computes labels that are not columns of the row."""


FIGURES: Final = (
    Figure("drover_fleet_devices", "Devices by status: online, busy, offline, error", ("status",), (_DEVICES,)),
    Figure("drover_fleet_jobs", "Jobs that have not ended, by status", ("status",), (_JOBS,)),
    Figure(
        "drover_fleet_assignments",
        "Assignments of jobs that have not ended: pending, running, or retrying (between two attempts)",
        ("state",),
        (_ASSIGNMENTS,),
    ),
    Figure(
        "drover_open_alerts",
        "Open alerts, by context, kind and severity (critical, warning)",
        ("context", "kind", "severity"),
        tuple(_ALERTS.format(context) for context in CONTEXTS),
        lambda row: {"severity": severity_of(row["kind"])},
    ),
    Figure(
        "drover_cleanup_finished_timestamp_seconds",
        "When the last cleanup of analyses finished, in seconds since 1970",
        (),
        (_CLEANUP,),
    ),
    Figure(
        "drover_reminder_overdue_seconds",
        "Seconds that the longest overdue alarm has waited to be claimed; 0 if none is overdue",
        (),
        (_OVERDUE,),
    ),
    Figure("drover_database_size_bytes", "Size of the database of the read models", (), (_SIZE,)),
)


class ReadModelFigures(Figures):
    def __init__(self, pool: Pool | None, **options: Any) -> None:
        """`pool`: None to only describe the metrics, without values."""
        super().__init__(**options)
        self._pool = pool

    def families(self) -> list[GaugeMetricFamily]:
        return [GaugeMetricFamily(figure.name, figure.help, labels=figure.labels) for figure in FIGURES]

    async def read(self) -> list[GaugeMetricFamily]:
        families = self.families()
        building = await self._being_built()
        for figure, family in zip(FIGURES, families, strict=True):
            for query in figure.queries:
                if building & contexts_in(query):
                    continue  # the tables lack rows, and a wrong number is worse than none
                for row in await self._ask(query):
                    if row["value"] is not None:
                        labels = {**row, **figure.derived(row)}
                        family.add_metric([labels[label] for label in figure.labels], float(row["value"]))
        return families

    async def _being_built(self) -> frozenset[str]:
        assert self._pool is not None
        try:
            return await contexts_being_built(self._pool)
        except POSTGRES_AWAY:  # so the queries will fail, too
            return frozenset(CONTEXTS)

    async def _ask(self, query: str) -> list[Any]:
        assert self._pool is not None
        try:
            rows: list[Any] = await self._pool.fetch(placed(query), timeout=QUERY_S)
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            return []  # the projector has not created the tables yet
        except POSTGRES_AWAY as error:
            log.info("figures_unknown", why=repr(error))
            return []
        return rows
