"""Finds the part that each context has in a package, by the context's name, so that a context is registered only
once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from drover.domain.contexts import CONTEXTS


def parts_in(layer: str, name: str = "{}") -> tuple[Any, ...]:
    """Import the part of each context from a package, in the order of the contexts: for `domain` these are
    `drover.domain.fleet.FLEET` and so on. `name`: the name of a part, with braces in place of the context's name."""
    return tuple(
        getattr(import_module(f"drover.{layer}.{context}"), name.format(context.upper())) for context in CONTEXTS
    )
