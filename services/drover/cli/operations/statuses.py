"""The states that `--status` accepts. `--help` loads this module, so it imports nothing; a test compares them with the
domain's."""

from __future__ import annotations

from typing import Final

OPEN: Final = "open"
"""Stands for all states in which something is not over."""

JOBS_OPEN: Final = ("active", "created", "paused")
JOBS: Final = (*JOBS_OPEN, "cancelled", "completed", "deactivated", "expired")
ASSIGNMENTS: Final = ("pending", "running", "completed", "failed", "cancelled")
DEVICES: Final = ("online", "busy", "offline", "error")
RENDERS_OPEN: Final = ("pending", "preparing", "rendering", "encoding", "uploading")
RENDERS: Final = (*RENDERS_OPEN, "completed", "failed", "cancelled")
TESTS: Final = ("processing", "completed", "failed")
WHY_KINDS: Final = ("job", "assignment", "device", "render", "test", "alarm")
LAYER_KINDS: Final = ("data", "image", "expression")
ALARMS: Final = ("upcoming", "due", "in_hand", "failing")


def expanded(wanted: tuple[str, ...], open_ones: tuple[str, ...]) -> tuple[str, ...]:
    """Replace `open` by the states that it stands for."""
    found = [state for word in wanted for state in (open_ones if word == OPEN else (word,))]
    return tuple(dict.fromkeys(found))
