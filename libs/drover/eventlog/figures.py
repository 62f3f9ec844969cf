"""Metrics of the log's size and of replicas that lag behind, read from NATS regularly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from nats.aio.client import Client
from nats.errors import Error as NatsError
from prometheus_client.metrics_core import GaugeMetricFamily

from drover.service.figures import Figures

ANSWER_S: Final = 3.0
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class LogFigures(Figures):
    def __init__(self, client: Client | None, contexts: Sequence[str], **options: Any) -> None:
        """`client`: None if the metrics are only to be described, without values."""
        super().__init__(**options)
        self._client = client
        self._contexts = contexts

    def families(self) -> list[GaugeMetricFamily]:
        return [
            GaugeMetricFamily("drover_log_commits", "Commits in the log, by context", labels=["context"]),
            GaugeMetricFamily("drover_log_bytes", "Size of the log before compression, by context", labels=["context"]),
            GaugeMetricFamily(
                "drover_log_limit_bytes",
                "Size at which the log becomes read-only, by context; absent if it has no limit",
                labels=["context"],
            ),
            GaugeMetricFamily(
                "drover_log_stale_replicas",
                "Replicas of the log that are offline or not up to date",
                labels=["context"],
            ),
        ]

    async def read(self) -> list[GaugeMetricFamily]:
        families = self.families()
        commits, size, limit, stale = families
        for context in self._contexts:
            info = await self._ask(f"$JS.API.STREAM.INFO.{context.upper()}")
            if (state := info.get("state")) is not None:
                commits.add_metric([context], state.get("messages", 0))
                size.add_metric([context], state.get("bytes", 0))
                if (limit_bytes := info["config"].get("max_bytes", 0)) > 0:
                    limit.add_metric([context], limit_bytes)
                replicas = (info.get("cluster") or {}).get("replicas") or []
                missing = [one for one in replicas if one.get("offline") or not one.get("current")]
                stale.add_metric([context], len(missing))
        return families

    async def _ask(self, subject: str) -> dict[str, Any]:
        """Send a request and return its answer. It is empty if there is no reply: other metrics show that NATS is
        unavailable."""
        assert self._client is not None
        try:
            return _decode((await self._client.request(subject, b"", timeout=ANSWER_S)).data)
        except (NatsError, OSError, msgspec.DecodeError):
            return {}
