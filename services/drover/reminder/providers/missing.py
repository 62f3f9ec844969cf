"""Imports libraries of an extra, and says what to install if one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from drover.domain.errors import DroverError


class ExtraMissing(DroverError):
    """The library of the chosen provider is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"DROVER_REMINDER_PROVIDER={extra} needs {module}, which is not installed: pip install 'drover[{extra}]'"
        )
        self.module = module
        self.extra = extra


def need(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ExtraMissing(module, extra) from error
