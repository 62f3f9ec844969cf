"""The endpoints of every process: liveness, readiness, metrics."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from drover.domain.errors import Code
from drover.service.health import Health as ProcessHealth
from drover.web.answers import UnloggedResponse
from drover.web.errors import ApiError, encode_json
from drover.web.route import JSON, NOT_LIMITED, Answer, Route, handles

_PROXIED: Final = ("X-Forwarded-For", "Forwarded")


class Health(msgspec.Struct):
    status: str
    """`ok` or `not ok`. `/readyz` may also say `degraded`: the process accepts requests, but not everything works."""
    reasons: dict[str, str]
    """By name of the part that fails, the reason as a sentence."""


_WELL: Final = Answer(Health, "Yes")
_UNWELL: Final = Answer(Health, "No; `reasons` says why")


def _probe(path: str, id: str, summary: str, answers: dict[int, Answer]) -> Route:
    return Route(
        method="GET",
        path=path,
        id=id,
        tag="process",
        summary=summary,
        answers=answers,
        caller="anybody",
        limit=NOT_LIMITED,
    )


class Probes:
    def __init__(self, health: ProcessHealth) -> None:
        self._health = health

    @handles(_probe("/livez", "isAlive", "Whether the process is alive", {200: _WELL}))
    async def livez(self, request: web.Request) -> web.Response:
        """Answer that the process is alive. A fault that needs a restart ends the process, so this needs no checks."""
        return _respond({})

    @handles(_probe("/readyz", "isReady", "Whether the process takes requests", {200: _WELL, 503: _UNWELL}))
    async def readyz(self, request: web.Request) -> web.Response:
        return _respond(self._health.not_ready(), self._health.degraded())

    @handles(
        Route(
            method="GET",
            path="/metrics",
            id="getMetrics",
            tag="process",
            summary="Metrics for Prometheus",
            answers={200: Answer(str, "Prometheus' text format", media="text/plain")},
            caller="anybody",
        )
    )
    async def metrics(self, request: web.Request) -> web.Response:
        """Return the metrics, but only to direct requests. A request that a proxy forwarded gets 404: an ingress
        forwards every path, so it would show the metrics to the outside."""
        if any(name in request.headers for name in _PROXIED):
            raise ApiError(404, Code.NOT_FOUND, "There is nothing at this path")
        return UnloggedResponse(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


def _respond(failing: dict[str, str], degraded: dict[str, str] | None = None) -> web.Response:
    """Answer with 200, or with 503 if something fails: a load balancer checks only the status."""
    status = "not ok" if failing else "degraded" if degraded else "ok"
    body = Health(status, failing | (degraded or {}))
    return UnloggedResponse(body=encode_json(body), status=503 if failing else 200, content_type=JSON)
