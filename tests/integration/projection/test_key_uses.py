"""The last use of API keys in Postgres: beside the rows of the log, and never older than before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from drover.api.identity.issued_keys import LISTED, KeyRecord
from drover.bus.telemetry import Beat
from drover.domain.identity.commands import CreateApiKey
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.presence import PresenceWriter
from drover.projection.runtime import Runner
from drover.projector.identity import IDENTITY_PROJECTION
from drover.projector.identity.key_uses import KEY_USES
from drover.readmodel.form import placed
from drover.testing.scenario import NOON
from drover.testing.waiting import eventually
from tests.integration.projection.test_people import Recorded

USED, UNUSED = "eeeeeeee-0000-4000-8000-000000000001", "eeeeeeee-0000-4000-8000-000000000002"


@pytest.mark.req("SE-01")
async def test_a_key_is_listed_with_its_last_use(postgres_dsn):
    await migrate(postgres_dsn)
    story = Recorded()
    for key_id in (USED, UNUSED):
        story.when(CreateApiKey(key_id, "office", "service_role", 3600))
    last = await story.write()
    async with Runner(IDENTITY_PROJECTION, story.log, postgres_dsn) as runner:
        await eventually(lambda: runner.checkpoint.seq == last)
    async with open_pool(postgres_dsn, "test") as pool:

        async def listed() -> dict[str, KeyRecord]:
            rows = await pool.fetch(placed(LISTED), None, 0)
            return {str(row["id"]): KeyRecord.of(row) for row in rows}

        async def told(*beats: Beat) -> None:
            async with PresenceWriter(pool, KEY_USES) as writer:
                writer.note(beats)

        earlier = NOON - timedelta(hours=1)
        await told(Beat(USED, NOON), Beat("not an id", NOON))
        await told(Beat(USED, earlier))  # of a process whose message came late
        found = await listed()
        assert (found[USED].last_used_at, found[UNUSED].last_used_at) == (NOON, None)
