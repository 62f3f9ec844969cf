"""Warns at the start about settings that this process does not read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import structlog

from drover.platform.registry import REGISTRY
from drover.platform.settings import FIELDS
from drover.service import other_names
from drover.service.config import Section, Settings, fields_of

READ_BY_ALL: Final = frozenset({"DROVER_REMINDER_PARTITIONS", "DROVER_LOG_KEEP"})
"""Settings that every process reads, because every process creates missing streams and refuses unsuitable ones."""

log = structlog.get_logger("drover.settings")


def warn_of_unread(environ: Mapping[str, str], services: Collection[str]) -> None:
    for name, why in unread(environ, services).items():
        log.warning("setting_not_read", setting=name, why=why)


def unread(environ: Mapping[str, str], services: Collection[str]) -> dict[str, str]:
    """Return the variables that are set but that no service of this process reads, each with the reason."""
    found = other_names.unread(environ)
    sections: set[type[Section]] = {Settings, *(section for name in services for section in REGISTRY[name].settings)}
    read = {*fields_of(*sections), *READ_BY_ALL}
    for name in [*FIELDS, *other_names.SETTINGS]:
        setting = other_names.SETTINGS.get(name, name)
        if environ.get(name) and setting not in read:
            found.setdefault(name, f"no service of this process uses {setting}")
    return found
