"""How the routes that record something about analyses are declared."""

from __future__ import annotations

from typing import Any

from drover.web.route import IDEMPOTENCY_KEY, POSITION, Answer, Method, Parameter, Permission, Route


def write(
    *,
    path: str,
    id: str,
    summary: str,
    permission: Permission,
    body: Any,
    answer: Any,
    method: Method = "POST",
    status: int = 200,
    body_optional: bool = False,
    parameters: tuple[Parameter, ...] = (),
    errors: tuple[int, ...] = (),
) -> Route:
    return Route(
        method=method,
        path=path,
        id=id,
        tag="saju",
        summary=summary,
        permission=permission,
        parameters=(*parameters, IDEMPOTENCY_KEY),
        body=body,
        body_optional=body_optional,
        answers={status: Answer(answer, "Recorded", headers=POSITION)},
        errors=(400, 404, 409, 413, 415, 422, 503, *errors),
    )
