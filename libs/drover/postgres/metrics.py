"""What is measured of Postgres: whether it answers, and the connections of the pool."""

from __future__ import annotations

from typing import Final

from prometheus_client import Gauge

UP: Final = Gauge(
    "drover_postgres_up", "1 while Postgres answers this process, which needs it; 0 while it does not", ["database"]
)
READ_MODELS: Final = "read_models"
"""The one database that there is. With a label a process that needs none shows nothing."""
LIMIT: Final = Gauge("drover_postgres_pool_limit_connections", "So many the pool may have", ["database"])
CONNECTIONS: Final = Gauge(
    "drover_postgres_pool_connections", "Connections of this process' pool, by state: busy or idle", ["state"]
)
