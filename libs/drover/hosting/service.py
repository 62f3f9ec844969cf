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
    """A route that is no part of the API: a page or file of the dashboard, or what answers at unknown paths."""

    method: str
    path: str
    handler: Handler


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """What one service adds to a process."""

    handlers: Sequence[object] = ()
    """Their classes declare its routes."""
    access: Access | None = None
    """Needed where one of these routes declares a permission."""
    unlisted: Sequence[Unlisted] = ()
    components: Sequence[Component] = ()
    """What starts and stops, its metrics included."""
    writers: Sequence[Writer[Any]] = ()
    """Each reports whether it would accept a command now."""
    ready: Mapping[str, Check] = field(default_factory=dict)
    """By name: why this process should not get requests yet."""


@dataclass(frozen=True, kw_only=True)
class Service:
    name: str
    """The name for `drover serve`."""
    assemble: Callable[[Host], Assembly]
    handlers: tuple[type, ...] = ()
    """The classes that declare its routes, so that the API can be described where the service does not run."""
    settings: tuple[type[Section], ...] = ()
    """Its settings beside the general ones."""
    reads_postgres: bool = False
    """Services without it need not even reach Postgres."""
    takes_requests: bool = False
    """It has routes for people or machines. They must stay available, so a stuck writer leaves the process ready."""
    is_part: bool = False
    """A part of another service, to run on other machines; not in `drover serve all`."""
