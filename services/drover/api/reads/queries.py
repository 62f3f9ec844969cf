"""The SQL of reads, by name: `sql/*.sql`, where `-- name: x` begins a query."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from drover.api.reads.columns import with_columns

_NAME: Final = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


def _load() -> dict[str, str]:
    found: dict[str, str] = {}
    for file in files("drover.api.reads").joinpath("sql").iterdir():
        if file.name.endswith(".sql"):
            _, *parts = _NAME.split(file.read_text(encoding="utf-8"))
            for name, sql in zip(parts[::2], parts[1::2], strict=True):
                assert name not in found, f"two queries are called {name}"
                found[name] = with_columns(name, sql.strip().removesuffix(";"))
    return found


QUERIES: Final = _load()
