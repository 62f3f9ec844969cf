"""Under which keys renders wait: for deadlines, one letter for the kind, then the id; and for their turn."""

from __future__ import annotations

from typing import Final

WORKERS_TIMER: Final = "w:workers"
"""There is one: it is about all workers."""


def lease_timer(render_id: int) -> str:
    return f"e:{render_id}"


def timeout_timer(render_id: int) -> str:
    return f"t:{render_id}"


def archive_timer(render_id: int) -> str:
    return f"x:{render_id}"


def place_in_queue(render_id: int) -> str:
    """Requests of one moment stand in the order of their ids: as texts, hence the noughts."""
    return f"{render_id:016}"
