"""Under which keys the deadlines of renders are kept: one letter for the kind, then the id."""

from __future__ import annotations


def lease_timer(render_id: int) -> str:
    return f"e:{render_id}"


def timeout_timer(render_id: int) -> str:
    return f"t:{render_id}"


def archive_timer(render_id: int) -> str:
    return f"x:{render_id}"
