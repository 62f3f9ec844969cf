"""Metrics of Postgres: whether it answers, and the connections of the pool."""

from __future__ import annotations

from typing import Final

from prometheus_client import Gauge

UP: Final = Gauge(
    "drover_postgres_up",
    "1 while Postgres answers this process, 0 while it does not; absent if the process does not need it",
    ["database"],
)
READ_MODELS: Final = "read_models"
"""The only database, as the value of a label. Processes without Postgres set no label and so expose no values."""
LIMIT: Final = Gauge("drover_postgres_pool_limit_connections", "Most connections that the pool may open", ["database"])
CONNECTIONS: Final = Gauge(
    "drover_postgres_pool_connections", "Connections of this process' pool, by state: busy or idle", ["state"]
)
