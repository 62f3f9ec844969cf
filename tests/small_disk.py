"""A disk that is soon full, for tests of what happens then."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILLING_BYTES = 4096


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


def fill(disk: Path) -> Path:
    """Take all the room that is left; the file that takes it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(FILLING_BYTES))
        except OSError:
            return filler
