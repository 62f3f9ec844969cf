"""Settings for tests: those of one section, read as the platform reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from drover.platform import settings as platform
from drover.service.config import Section, Settings

S = TypeVar("S", bound=Section)


def load(environ: Mapping[str, str], section: type[S] = Settings, *, without: Collection[str] = ()) -> S:
    return platform.load(environ, without=without)[section]
