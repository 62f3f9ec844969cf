"""Checks whether the NAS is mounted. A lost mount leaves an empty local folder. Without this check, copies would go
there and fill the local disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

MARKER: Final = ".drover-nas"
"""The name of an empty file that the operator creates once in the root folder on the NAS."""

Guard = Callable[[int], None]
"""A function that raises OSError unless the root folder is on the NAS. It gets the root folder as an open descriptor. A
descriptor always means the folder that was opened, so we write to the folder that was checked, even if the mount is
lost right after."""


def mount_point(place: Path) -> Guard:
    """Make a guard that accepts the root folder only if `place` is a mount point (on another device than its parent)
    and the root folder is not on the device of that parent."""

    def check(root: int) -> None:
        outside = os.stat(place.parent).st_dev
        if outside in (os.stat(place).st_dev, os.fstat(root).st_dev):
            raise OSError(errno.ENOTCONN, f"{place} is not mounted")

    return check


def marker(name: str = MARKER) -> Guard:
    """Make a guard that accepts the root folder only if it has a file of this name. This also detects a wrong share."""

    def check(root: int) -> None:
        try:
            os.stat(name, dir_fd=root, follow_symlinks=False)
        except FileNotFoundError:
            raise OSError(errno.ENOTCONN, f"the file {name} is missing in the root: not mounted?") from None

    return check


def plain_folder(root: int) -> None:
    """A guard that checks nothing: any folder of this machine is accepted, for trying things out."""
