"""Reads the docstrings of a struct's fields from the source, because Python discards them. For documentation."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import Any


def field_texts(struct: type[Any]) -> dict[str, str]:
    """Return the docstring of each field, including inherited fields. Empty if the source is not available."""
    texts: dict[str, str] = {}
    for parent in reversed(struct.__mro__):
        texts |= _module_texts(parent.__module__).get(parent.__name__, {})
    return texts


@cache
def _module_texts(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of a module's fields, by class and field."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not file.endswith(".py") or not module.startswith("drover."):
        return {}
    definitions = ast.parse(Path(file).read_text(encoding="utf-8")).body
    return {one.name: _texts(one) for one in definitions if isinstance(one, ast.ClassDef)}


def _texts(definition: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[field.target.id] = inspect.cleandoc(text.value.value).replace("\n", " ")
    return found
