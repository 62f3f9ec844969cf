"""The OpenAPI document of all services. `GET /api/openapi.json` serves it, `tools/openapi.py` writes it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from drover.platform.registry import REGISTRY
from drover.web.openapi.document import document
from drover.web.probes import Probes
from drover.web.route import Route, routes_of

TITLE: Final = "Drover"
DESCRIPTION: Final = (
    "The control plane of a farm. `/api` is for people and their dashboard, `/auth/v1` and `/rest/v1` are what clients "
    "of Supabase speak. Lists page by `cursor`: send `next` of the previous page, until it is null. Times are UTC."
)


def all_routes() -> tuple[Route, ...]:
    """Return the routes of every service, whether it runs here or not, and the routes that every process has, once
    each."""
    handlers = dict.fromkeys(one for service in REGISTRY.values() for one in service.handlers)
    return routes_of(*handlers, Probes)


def openapi_document() -> dict[str, Any]:
    return document(all_routes(), title=TITLE, version=version("drover"), description=DESCRIPTION)
