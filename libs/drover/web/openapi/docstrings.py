"""The texts below the fields of a struct, which Python does not keep: read from the source, for the document."""

from __future__ import annotations

import ast
import inspect
from textwrap import dedent
from typing import Any


def field_texts(struct: type[Any]) -> dict[str, str]:
    """By field, those of its parents included. Nothing where the source is not at hand."""
    texts: dict[str, str] = {}
    for parent in reversed(struct.__mro__):
        try:
            source = dedent(inspect.getsource(parent))
        except (OSError, TypeError):
            continue
        (definition,) = ast.parse(source).body
        if isinstance(definition, ast.ClassDef):
            texts |= _texts(definition)
    return texts


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
