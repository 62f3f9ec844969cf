"""The room on a disk, and how much of it must stay free for the log."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import msgspec

RESERVE_SHARE: Final = 20
"""The logs stop growing when less than one part in this many of the disk is free."""
# The least and the most of this reserve, in bytes.
RESERVE_BYTES_MIN: Final = 32 * 1024 * 1024
RESERVE_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024


class Room(msgspec.Struct, frozen=True):
    """How many bytes of a disk are free, and how many it has."""

    free: int
    total: int

    @property
    def reserve(self) -> int:
        """How many bytes must stay free. The logs stop growing when less is free."""
        return min(max(self.total // RESERVE_SHARE, RESERVE_BYTES_MIN), RESERVE_BYTES_MAX)

    @property
    def is_short(self) -> bool:
        return self.free < self.reserve

    @property
    def is_ample(self) -> bool:
        """Whether clearly more than the reserve is free. Only then may the logs grow again; otherwise they would be
        stopped and released in turns."""
        return self.free >= self.reserve + self.reserve // 4

    @classmethod
    def of(cls, folder: Path) -> Room:
        usage = shutil.disk_usage(folder)
        return cls(usage.free, usage.total)
