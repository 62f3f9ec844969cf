"""A disk that is soon full, for tests of what happens then."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILLING_BYTES = 4096
MARGIN_BYTES = 4 * 1024 * 1024
"""What is not taken at once, because others write meanwhile: then nothing would be taken."""


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A file system of this size (`64k`, `40m`) at a folder that is made for it. Skips the test without the right."""
    place.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", str(place)]
    mount = subprocess.run(["mount", *options], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip(f"needs to mount a tmpfs: {mount.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """Take all the room but `leave` bytes; the file that takes it. Most of it at once, before anybody can look."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - max(leave, MARGIN_BYTES))
            file.seek(0, os.SEEK_END)
            while not leave:
                file.write(bytes(FILLING_BYTES))
        except OSError:
            pass
    return filler
