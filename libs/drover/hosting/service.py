"""A service as a value: what it is called, what it must be told, and what it adds to its process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

from drover.hosting.host import Host
from drover.service.config import Section
from drover.service.health import Check
from drover.service.lifecycle import Component
from drover.writer.writer import Writer


class Routes(Protocol):
    def add_routes(self, app: web.Application) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """What one service adds to a process."""

    routes: Sequence[Routes] = ()
    components: Sequence[Component] = ()
    """What starts and stops, its metrics included."""
    writers: Sequence[Writer[Any]] = ()
    """Each says whether it would accept a command now."""
    ready: Mapping[str, Check] = field(default_factory=dict)
    """By name: why requests should not be sent to this process yet."""


@dataclass(frozen=True, kw_only=True)
class Service:
    name: str
    """As `drover serve` calls it."""
    assemble: Callable[[Host], Assembly]
    settings: tuple[type[Section], ...] = ()
    """What it must be told beside the general settings."""
    reads_postgres: bool = False
    """The others need not even reach it."""
    takes_requests: bool = False
    """People and machines send requests to it. A writer that is stuck must not take its routes away with it."""
    is_part: bool = False
    """A part of another service, for machines of its own: not in `drover serve all`."""
