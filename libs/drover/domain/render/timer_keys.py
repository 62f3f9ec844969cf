"""Makes the keys of the render queue's timers (one letter for the kind, then the id) and of its pending renders."""

from __future__ import annotations

from typing import Final

WORKERS_TIMER: Final = "w:workers"
"""The key of the timer for missing workers. There is one for all workers."""


def lease_timer(render_id: int) -> str:
    return f"e:{render_id}"


def timeout_timer(render_id: int) -> str:
    return f"t:{render_id}"


def archive_timer(render_id: int) -> str:
    return f"x:{render_id}"


def place_in_queue(render_id: int) -> str:
    """Make the key that orders pending renders of the same time by id. Keys compare as texts, hence the leading
    zeros."""
    return f"{render_id:016}"
