"""Source files as syntax trees."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def parse(path: Path) -> ast.Module:
    """The collector waits: it could let another thread compile meanwhile, which CPython 3.11 takes for an error of its
    own ("AST constructor recursion depth mismatch")."""
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.enable()
