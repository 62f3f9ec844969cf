"""The result of a check (`Finding`), and the input of all checks (`Scene`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec
from nats.aio.client import Client

from drover.cli.target import Target
from drover.domain.errors import DroverError
from drover.postgres.pool import Connection


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


class Finding(msgspec.Struct, frozen=True):
    verdict: Verdict
    found: str
    """What the check found."""
    remedy: str = ""
    """What to do about it; empty if nothing needs to be done."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """The machine and the parts of the platform. A part that could not be reached is represented by its error."""

    data_dir: Path
    environ: Mapping[str, str]
    target: Target | DroverError
    nats: Client | DroverError
    postgres: Connection | DroverError

    @property
    def is_embedded(self) -> bool:
        """Whether `drover up` runs the servers."""
        return isinstance(self.target, Target) and self.target.embedded

    @property
    def is_external(self) -> bool:
        """Whether the environment names the servers."""
        return isinstance(self.target, Target) and not self.target.embedded


Check = Callable[[Scene], Awaitable[Finding]]


def ok(found: str) -> Finding:
    return Finding(Verdict.OK, found)


def warn(found: str, remedy: str) -> Finding:
    return Finding(Verdict.WARN, found, remedy)


def fail(found: str, remedy: str) -> Finding:
    return Finding(Verdict.FAIL, found, remedy)


def skipped(found: str, remedy: str = "") -> Finding:
    return Finding(Verdict.SKIPPED, found, remedy)
