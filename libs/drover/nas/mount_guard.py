"""Checks whether the NAS is mounted. Without this, copies would fill the local disk when the mount is lost and leaves
an empty folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

MARKER: Final = ".drover-nas"
"""The name of an empty file that somebody creates once in the root folder on the NAS."""

Guard = Callable[[int], None]
"""Raises OSError unless the root folder, given as an open descriptor, is on the NAS. A descriptor stays where it was
opened, so we write to what we checked, even if the mount is lost right after."""


def mount_point(place: Path) -> Guard:
    """Make a guard by which `place` must be a mount point (another device than its parent), with the root folder below
    it."""

    def check(root: int) -> None:
        outside = os.stat(place.parent).st_dev
        if outside in (os.stat(place).st_dev, os.fstat(root).st_dev):
            raise OSError(errno.ENOTCONN, f"{place} is not mounted")

    return check


def marker(name: str = MARKER) -> Guard:
    """Make a guard by which the root folder must have a file of this name. This also detects a wrong share."""

    def check(root: int) -> None:
        try:
            os.stat(name, dir_fd=root, follow_symlinks=False)
        except FileNotFoundError:
            raise OSError(errno.ENOTCONN, f"the file {name} is missing in the root: not mounted?") from None

    return check


def plain_folder(root: int) -> None:
    """Check nothing: any folder of this machine is accepted, for trying things out."""
