"""The rows of `tel_identity.key_uses`: when each API key was last used."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from drover.bus.telemetry import Beat
from drover.projection.presence import PresenceTable

_UPSERT: Final = """
INSERT INTO tel_identity.key_uses AS u (key_id, last_used_at)
SELECT * FROM unnest($1::uuid[], $2::timestamptz[])
ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at
WHERE excluded.last_used_at > u.last_used_at
"""


def _key(beat: Beat) -> UUID | None:
    try:
        return UUID(beat.device_id)
    except ValueError:
        return None


def _columns(beat: Beat) -> tuple[Any, ...]:
    return (beat.seen_at,)


KEY_USES: Final = PresenceTable(context="identity", upsert=_UPSERT, key=_key, columns=_columns)
