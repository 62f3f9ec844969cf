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
"""The value of the label `database`; there is only one. A process without Postgres does not set it, so it exposes no
values."""
LIMIT: Final = Gauge("drover_postgres_pool_limit_connections", "Most connections that the pool may open", ["database"])
CONNECTIONS: Final = Gauge(
    "drover_postgres_pool_connections", "Connections of this process' pool, by state: busy or idle", ["state"]
)
