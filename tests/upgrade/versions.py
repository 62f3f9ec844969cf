"""Versions of Drover as folders, so that processes of two versions can run side by side."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
ROOTS: Final = ("libs", "services")
"""The two folders of the namespace package `drover`."""


class Version(NamedTuple):
    name: str
    folder: Path

    @property
    def environ(self) -> Mapping[str, str]:
        """Makes a `drover` process import this version instead of the installed one."""
        return {"PYTHONPATH": ":".join(str(self.folder / root) for root in ROOTS)}


def of_commit(commit: str, folder: Path) -> Version:
    """Unpack a commit of this repository."""
    archive = subprocess.run(
        ["git", "archive", commit, *ROOTS, "pyproject.toml"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return Version(commit[:7], folder)


def of_today() -> Version:
    """Return the program of this working tree."""
    return Version("today", ROOT)
