"""The rows of `tel_render.workers`: the last heartbeat of each render worker, and its current render."""

from __future__ import annotations

from typing import Any, Final

from drover.bus.telemetry import Beat
from drover.domain.render.validation import ID_CHARS_MAX
from drover.projection.presence import PresenceTable

_UPSERT: Final = """
INSERT INTO tel_render.workers AS w (worker_id, last_seen_at, render_id, run, progress)
SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::int[], $4::int[], $5::int[])
ON CONFLICT (worker_id) DO UPDATE
SET last_seen_at = excluded.last_seen_at, render_id = excluded.render_id, run = excluded.run,
    progress = excluded.progress
WHERE excluded.last_seen_at >= w.last_seen_at
"""
# Silent workers are forgotten after a day: a name may be as short-lived as its container. The table
# `render_queue_audit` keeps what a worker did.
_FORGET: Final = "DELETE FROM tel_render.workers WHERE last_seen_at < now() - interval '1 day'"
_INT_MAX: Final = 2**31 - 1


def _worker(beat: Beat) -> str | None:
    name = beat.device_id
    return name if 1 <= len(name) <= ID_CHARS_MAX and name.isprintable() else None


def _columns(beat: Beat) -> tuple[Any, ...]:
    """Make a row from a heartbeat, which has `render_id` (null while idle), `progress`, and maybe `run`. Invalid values
    become null."""
    reported = beat.reported or {}
    return (
        beat.seen_at,
        _number(reported.get("render_id"), _INT_MAX),
        _number(reported.get("run"), _INT_MAX),
        _number(reported.get("progress"), 100),
    )


def _number(value: Any, at_most: int) -> int | None:
    return value if type(value) is int and 0 <= value <= at_most else None


RENDER_WORKERS: Final = PresenceTable(context="render", upsert=_UPSERT, key=_worker, columns=_columns, forget=_FORGET)
