"""A service as a value: its name, its settings, and what it adds to a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from drover.hosting.host import Host
from drover.service.config import Section
from drover.service.health import Check
from drover.service.lifecycle import Component
from drover.web.access import Access
from drover.web.application import Handler
from drover.writer.writer import Writer


class Unlisted(NamedTuple):
    """A route that is not part of the API: a page or file of the dashboard, or the answer to an unknown path."""

    method: str
    path: str
    handler: Handler


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
    takes_requests: bool = False
    """Whether the service has routes for people or machines. They must stay available, so the process stays ready even
    if one of its writers is stuck."""
    is_part: bool = False
    """Whether this is only a part of another service, for running that part on other machines. `drover serve all`
    leaves the part out, because it runs the whole service."""
