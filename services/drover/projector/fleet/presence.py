"""The rows of `tel_fleet.presence`: the last heartbeat of each device, and what runs on it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec

from drover.bus.telemetry import Beat
from drover.projection.event_table import jsonb_text
from drover.projection.presence import PresenceTable

_UPSERT: Final = """
INSERT INTO tel_fleet.presence AS p (device_id, last_seen_at, reported, assignment_id, run, progress_pct, ad_playing)
SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::jsonb[], $4::uuid[], $5::int[], $6::int[], $7::bool[])
ON CONFLICT (device_id) DO UPDATE
SET last_seen_at = excluded.last_seen_at,
    reported = coalesce(excluded.reported, p.reported),
    assignment_id = coalesce(excluded.assignment_id, p.assignment_id),
    run = coalesce(excluded.run, p.run),
    progress_pct = coalesce(excluded.progress_pct, p.progress_pct),
    ad_playing = coalesce(excluded.ad_playing, p.ad_playing)
WHERE excluded.last_seen_at >= p.last_seen_at
"""
_RUN_MAX: Final = 2**31 - 1


def _device(beat: Beat) -> UUID | None:
    work = beat.work
    try:
        if work is not None:
            UUID(work.assignment_id)
            if not (0 <= work.progress_pct <= 100 and 0 <= work.run <= _RUN_MAX):
                return None
        return UUID(beat.device_id)
    except ValueError:
        return None


def _columns(beat: Beat) -> tuple[Any, ...]:
    reported = None if beat.reported is None else jsonb_text(msgspec.json.encode(beat.reported).decode())
    work = beat.work
    if work is None:
        return (beat.seen_at, reported, None, None, None, None)
    return (beat.seen_at, reported, UUID(work.assignment_id), work.run, work.progress_pct, work.ad_playing)


FLEET_PRESENCE: Final = PresenceTable(
    context="fleet", upsert=_UPSERT, key=_device, columns=_columns, relation="devices"
)
