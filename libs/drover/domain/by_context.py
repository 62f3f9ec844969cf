"""Imports what each context defines in a package (its decider, its read model, and so on) by the context's name. So a
context is registered only once, in `contexts.py`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from drover.domain.contexts import CONTEXTS


def parts_in(layer: str, name: str = "{}") -> tuple[Any, ...]:
    """Import one object of each context from the package `drover.<layer>`, in the order of the contexts. For `domain`
    these are `drover.domain.fleet.FLEET` and so on. `name`: the object's name, with `{}` in place of the context's name
    in capitals."""
    return tuple(
        getattr(import_module(f"drover.{layer}.{context}"), name.format(context.upper())) for context in CONTEXTS
    )
