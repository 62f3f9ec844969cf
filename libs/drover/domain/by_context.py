"""Finds the part of each context in a layer by the context's name, so that a context is registered once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from drover.domain.contexts import CONTEXTS


def parts_in(layer: str, name: str = "{}") -> tuple[Any, ...]:
    """For `domain` these are `drover.domain.fleet.FLEET` and so on, in the order of the contexts. `name` is the name
    of the part, with braces for the name of the context."""
    return tuple(
        getattr(import_module(f"drover.{layer}.{context}"), name.format(context.upper())) for context in CONTEXTS
    )
