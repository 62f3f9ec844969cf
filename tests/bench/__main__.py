"""Runs the measurements, prints them as a table and writes build/bench.json. `python -m tests.bench [PART]`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

from tests.bench.report import Figure

HERE = Path(__file__).parent
OUT = Path("build/bench.json")


def main() -> int:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    parts = sorted(p.stem for p in HERE.glob("*_*.py") if not p.stem.startswith("__") and p.stem.startswith(only))
    if not parts:
        print(
            f"No measurement begins with {only!r}. There are: {', '.join(sorted(p.stem for p in HERE.glob('*_*.py')))}"
        )
        return 2
    figures: list[Figure] = []
    for part in parts:
        print(f"… {part}", file=sys.stderr, flush=True)
        figures += uvloop.run(importlib.import_module(f"tests.bench.{part}").figures())
    table = Table("measurement", "value", "raw limit", "unit", "ratio", "target", "")
    for f in figures:
        table.add_row(
            f.name, f"{f.value:,.4g}", f"{f.limit:,.4g}", f.unit, f"{f.ratio:.2f}", f.target, "ok" if f.ok else "MISSED"
        )
    Console(width=120).print(table)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
    return 0 if all(f.ok for f in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
