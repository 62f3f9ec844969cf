"""Finds the part of each context in a layer by the context's name, so that a context is registered once."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from drover.domain.contexts import CONTEXTS


def parts_in(layer: str, name: str = "{}") -> tuple[Any, ...]:
    """The parts of all contexts in a layer, in the order of the contexts: for `domain`, `drover.domain.fleet.FLEET` and
    so on. `name`: the name of a part, with braces in place of the context's name."""
    return tuple(
        getattr(import_module(f"drover.{layer}.{context}"), name.format(context.upper())) for context in CONTEXTS
    )
