"""The programs that operators and Docker use on `deploy/`: helm, Docker Compose, hadolint. Pinned wheels bring them."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path
from typing import Final

import pytest

LIMIT_S: Final = 60


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment; whatever it wrote is returned, also if it failed."""
    program = Path(sysconfig.get_path("scripts")) / name
    if not program.exists():
        pytest.skip(f"{name} is missing: there is no wheel of it for this machine")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=LIMIT_S)


def output(name: str, *arguments: str | Path) -> str:
    """What a program that succeeds writes."""
    done = run(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
