"""003: the queries that people run in the SQL editor. What writes (3.3, 5.3, 10.2) is in the worker and the recovery.

PostgreSQL refuses the second query of 7.2 as printed, because it orders an aggregate by a column; here it takes the
latest 100 first, as it says. `FOR UPDATE SKIP LOCKED` (6.3) belongs to claiming.
"""

from __future__ import annotations

import asyncio
import os

import asyncpg
from steps import expect, step

OLDEST = """
SELECT id, composition_id, gfx_data, cue_item_id
FROM render_queue
WHERE status = 'pending'
ORDER BY created_at ASC
LIMIT 1;
"""
STUCK = """
SELECT id, worker_id, lock_expires_at
FROM render_queue
WHERE status IN ('preparing', 'rendering', 'encoding', 'uploading')
  AND lock_expires_at < NOW()
  AND worker_id IS NOT NULL;
"""
MAPPING = "SELECT field_name, layer_name FROM aep_field_mapping WHERE composition_id = $1"
PENDING = """
SELECT COUNT(*) as pending_count
FROM render_queue
WHERE status = 'pending'
  AND created_at > NOW() - INTERVAL '1 hour';
"""
DURATION = """
SELECT AVG(EXTRACT(EPOCH FROM (completed_at - started_at))) as avg_duration_seconds
FROM (
  SELECT completed_at, started_at
  FROM render_queue
  WHERE status = 'completed'
    AND completed_at > NOW() - INTERVAL '1 day'
  ORDER BY completed_at DESC
  LIMIT 100
) AS latest;
"""
SUCCESS_RATE = """
SELECT
  COUNT(CASE WHEN status = 'completed' THEN 1 END)::float / COUNT(*) * 100 as success_rate
FROM render_queue
WHERE created_at > NOW() - INTERVAL '24 hours'
  AND status IN ('completed', 'failed');
"""
WORKERS = """
SELECT COUNT(DISTINCT worker_id) as active_workers
FROM render_queue
WHERE status IN ('preparing', 'rendering', 'encoding', 'uploading')
  AND lock_expires_at > NOW();
"""
AUDIT = """
SELECT id, render_queue_id, status_from, status_to, worker_id, changed_at, changed_by
FROM render_queue_audit
ORDER BY changed_at DESC
LIMIT 10;
"""


async def main() -> None:
    db = await asyncpg.connect(os.environ["DATABASE_URL"])
    with step("3.2", "the oldest film that waits"):
        assert len(await db.fetch(OLDEST)) <= 1
    with step("5.3", "the films that are stuck"):
        expect(await db.fetch(STUCK), [])
    with step("6.2", "the field mapping of a composition"):
        expect(len(await db.fetch(MAPPING, "comp_123")), 3)
    with step("7.2", "how many films wait"):
        assert await db.fetchval(PENDING) >= 0
    with step("7.2", "the mean duration of the latest 100"):
        await db.fetchval(DURATION)
    with step("7.2", "the success rate of a day"):
        await db.fetchval(SUCCESS_RATE)
    with step("7.2", "how many workers are at work"):
        assert await db.fetchval(WORKERS) >= 0
    with step("8.2", "the audit trail"):
        assert await db.fetch(AUDIT)
    await db.close()


asyncio.run(main())
