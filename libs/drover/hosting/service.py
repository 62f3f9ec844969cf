"""A service as a value: its name, its settings, and what it adds to a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiohttp import web

from drover.hosting.host import Host
from drover.service.config import Section
from drover.service.health import Check
from drover.service.lifecycle import Component
from drover.web.access import Access
from drover.web.application import Handler, add_route
from drover.writer.writer import Writer


class Unlisted(NamedTuple):
    """A route that is not part of the API: a page or file of the dashboard, or the answer to an unknown path."""

    method: str
    path: str
    handler: Handler
    takes_credentials: bool = False
    """Whether the handler authenticates its caller. If so, plain HTTP from other machines is refused."""


def add_unlisted(app: web.Application, routes: Iterable[Unlisted], access: Access | None = None) -> None:
    """Add these routes to an application. One that takes credentials needs `access`."""
    for route in routes:
        handler = route.handler
        if route.takes_credentials:
            assert access is not None, f"{route.method} {route.path} needs access control"
            handler = access.in_private(handler)
        add_route(app, route.method, route.path, handler)


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The parts that one service adds to a process."""

    handlers: Sequence[object] = ()
    """Objects whose classes declare the service's routes."""
    access: Access | None = None
    """Checks callers and permissions. Required if one of the routes declares a permission."""
    unlisted: Sequence[Unlisted] = ()
    components: Sequence[Component] = ()
    """The parts that start and stop with the process, metrics included."""
    writers: Sequence[Writer[Any]] = ()
    """The writers of the service. Each reports whether it would accept a command now."""
    ready: Mapping[str, Check] = field(default_factory=dict)
    """Readiness checks by name. Each says why this process should not get requests yet."""


@dataclass(frozen=True, kw_only=True)
class Service:
    name: str
    """The name of the service for `drover serve`."""
    assemble: Callable[[Host], Assembly]
    handlers: tuple[type, ...] = ()
    """The classes that declare its routes. With them the API can be described without running the service."""
    settings: tuple[type[Section], ...] = ()
    """The service's own settings, besides the general ones."""
    reads_postgres: bool = False
    """Whether the service needs Postgres. A process without such a service never connects to it."""
    tells: str | None = None
    """The context whose writer is told about callers that keep exceeding their limits. The service must be allowed to
    send it commands. None: nobody is told."""
    takes_requests: bool = False
    """Whether the service has routes for people or machines. They must stay available. So a process with such a service
    stays ready even if one of its writers is stuck."""
    is_outside: bool = False
    """Whether the service runs on machines outside the platform. NATS does not let these read or write the logs. So a
    process with only such services neither creates nor checks streams."""
    reacts_to: tuple[str, ...] = ()
    """For a service that is outside: the contexts whose reactors it runs. At its start it asks only for these whether
    their side effects are switched off. Other services ask for every context."""
    niceness: int = 0
    """How much `drover serve` lowers the priority of a process that runs only this service."""
    is_part: bool = False
    """Whether this service is only a part of another one, so that this part can run on other machines. `drover serve
    all` leaves it out, because it runs the other service as a whole."""
