"""Shared by the routes of the reminder service: JSON answers, and the declaration of writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from drover.web.errors import encode_json
from drover.web.route import IDEMPOTENCY_KEY, POSITION, Answer, Method, Parameter, Permission, Route


def json_answer(value: Any, status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=encode_json(value), status=status, content_type="application/json", headers=headers or {})


def recorded(type_: Any) -> Answer:
    return Answer(type_, "Recorded", headers=POSITION)


def write(
    *,
    method: Method = "POST",
    path: str,
    id: str,
    summary: str,
    permission: Permission,
    body: Any = None,
    answers: dict[int, Answer],
    parameters: tuple[Parameter, ...] = (),
    errors: tuple[int, ...] = (),
) -> Route:
    """A route that records something."""
    return Route(
        method=method,
        path=path,
        id=id,
        tag="reminder",
        summary=summary,
        permission=permission,
        parameters=(*parameters, IDEMPOTENCY_KEY),
        body=body,
        answers=answers,
        errors=(400, 404, 413, 415, 422, 503, *errors),
    )
