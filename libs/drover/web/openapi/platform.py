"""What every process answers, described: is it alive, is it ready, its metrics."""

from __future__ import annotations

from typing import Final

import msgspec

from drover.web.openapi.operation import Answer, Operation


class Health(msgspec.Struct):
    status: str
    """`ok` or `not ok`; of `/readyz` also `degraded`: it takes requests, but not everything works."""
    reasons: dict[str, str]
    """By the part that is not well, a sentence."""


def _probe(path: str, id: str, summary: str) -> Operation:
    well, unwell = Answer(Health, "It is"), Answer(Health, "It is not; `reasons` says why")
    return Operation(
        method="GET",
        path=path,
        id=id,
        tag="process",
        summary=summary,
        answers={200: well, 503: unwell},
        caller="anybody",
    )


OPERATIONS: Final = (
    _probe("/livez", "isAlive", "Whether the process is alive"),
    _probe("/readyz", "isReady", "Whether the process takes requests"),
    Operation(
        method="GET",
        path="/metrics",
        id="getMetrics",
        tag="process",
        summary="Metrics for Prometheus",
        answers={200: Answer(str, "Prometheus' text format", media="text/plain")},
        caller="anybody",
    ),
)
