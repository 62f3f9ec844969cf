"""Node with the packages that a folder pins, for tests against real JavaScript: installed once, whoever asks first."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

INSTALL_S: Final = 300


def node_with(packages: Path) -> str:
    """Node, once the packages of this folder's lock file are installed; skips the test where there is no Node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip(f"Node.js and npm are not installed; what {packages.name} pins cannot be run without them")
    # Workers of pytest-xdist may ask at the same time: the second one waits, and finds all of it there.
    with (packages / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_installed(packages):
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            subprocess.run(command, cwd=packages, check=True, timeout=INSTALL_S)
    return node


def _is_installed(packages: Path) -> bool:
    lock, installed = packages / "package-lock.json", packages / "node_modules" / ".package-lock.json"
    return installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime
