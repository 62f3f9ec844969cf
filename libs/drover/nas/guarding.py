"""Is the NAS really there? A mount that is lost leaves an empty folder, and copies would fill the local disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

MARKER: Final = ".drover-nas"
"""An empty file that somebody puts into the root, on the NAS, once."""

Guard = Callable[[int], None]
"""Given the root, open as a descriptor: raises OSError unless it is on the NAS. A descriptor stays where it was opened,
so what was checked is what is written to, even if the mount is lost right after."""


def mount_point(place: Path) -> Guard:
    """The place must be a mount point (another device than its parent), and the root must be behind it."""

    def check(root: int) -> None:
        outside = os.stat(place.parent).st_dev
        if outside in (os.stat(place).st_dev, os.fstat(root).st_dev):
            raise OSError(errno.ENOTCONN, f"{place} is not mounted")

    return check


def marker(name: str = MARKER) -> Guard:
    """A file of that name must stand in the root. Tells the right share from a wrong one, too."""

    def check(root: int) -> None:
        try:
            os.stat(name, dir_fd=root, follow_symlinks=False)
        except FileNotFoundError:
            raise OSError(errno.ENOTCONN, f"the file {name} is missing in the root: not mounted?") from None

    return check


def plain_folder(root: int) -> None:
    """Whatever is there will do: a folder of this machine, for trying things out."""
