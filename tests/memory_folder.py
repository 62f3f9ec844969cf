"""Where the tests put their files: in memory, if there is enough of it. Servers that sync every write then wait for no
disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")
ROOM_BYTES_MIN: Final = 6 * 1024**3
"""A run with five workers takes less than two thirds of this. In a container there often are 64 MB."""
CHOSEN_BY_USER: Final = ("PYTEST_DEBUG_TEMPROOT", "TMPDIR")


def folder_in_memory(environ: Mapping[str, str], memory: Path = MEMORY) -> Path | None:
    """A folder of this process' own that does not exist yet. None: the usual folder for temporary files is better.

    Folders of runs that have ended are removed: a run that fails leaves its own for people to look at, until the next.
    """
    if any(environ.get(name) for name in CHOSEN_BY_USER) or _room(memory) < ROOM_BYTES_MIN:
        return None
    ours = memory / f"drover-tests-{os.geteuid()}"
    with suppress(FileExistsError):
        ours.mkdir(mode=0o700)
    if ours.is_symlink() or ours.stat().st_uid != os.geteuid():
        return None  # somebody else has made it
    for folder in ours.iterdir():
        if not _lives(int(folder.name)):
            shutil.rmtree(folder, ignore_errors=True)
    return ours / str(os.getpid())


def _room(memory: Path) -> int:
    """In the folder and in memory: a folder in memory promises more than there may be."""
    try:
        return min(shutil.disk_usage(memory).free, _available_bytes())
    except OSError:
        return 0


def _available_bytes() -> int:
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
