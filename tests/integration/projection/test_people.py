"""Accounts and sessions in Postgres: rows as the log says, relations as the gateway describes them."""

from __future__ import annotations

from datetime import UTC, datetime

import asyncpg
import pytest

from drover.domain.identity import IDENTITY
from drover.domain.identity.commands import ChangeRole, EndSession
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.postgres.migrate import migrate
from drover.projection.runtime import Runner
from drover.projector.identity import IDENTITY_PROJECTION
from drover.readmodel.form import placed
from drover.testing.scenario import Scenario
from drover.testing.waiting import eventually
from tests.integration.projection.described import check_described, relations_of, views_of
from tests.unit.domain.identity.world import KIM, LEE, S1, S2, created, refresh, start

CODEC = Codec.of(IDENTITY)


class Recorded(Scenario):
    """A scenario whose events are also in a log."""

    def __init__(self) -> None:
        super().__init__(IDENTITY)
        self.log = MemoryLog(Partition("identity"))
        self.lines: list[bytes] = []

    def _fold(self, event) -> None:
        super()._fold(event)
        event.by, event.cause = f"user:{KIM}", "command"
        self.lines.append(CODEC.encode([event]))

    async def write(self) -> int:
        for seq, line in enumerate(self.lines):
            await self.log.append(Commit(str(seq), 1, line), seq)
        return len(self.lines)


@pytest.fixture
async def connection(postgres_dsn):
    await migrate(postgres_dsn)
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


@pytest.mark.req("SY-13", "SY-15")
async def test_people_in_postgres(connection, postgres_dsn):
    story = Recorded()
    story.given(created(KIM), created(LEE, "viewer")).when(start()).when(start(S2, LEE)).after(minutes=1)
    story.when(refresh(0)).after(minutes=1).when(refresh(0))
    story.when(ChangeRole(LEE, "operator")).when(EndSession(S2))
    last = await story.write()
    async with Runner(IDENTITY_PROJECTION, story.log, postgres_dsn) as runner:
        await eventually(lambda: runner.checkpoint.seq == last or runner.stopped)
        assert runner.stopped is None

    await check_described(connection, "identity")
    assert await views_of(connection, "identity") | {"events"} == relations_of("identity")

    accounts = await connection.fetch(placed("SELECT * FROM rm_identity.accounts ORDER BY id"))
    assert [(str(row["id"]), row["role"]) for row in accounts] == [(KIM, "admin"), (LEE, "operator")]
    sessions = await connection.fetch(placed("SELECT * FROM rm_identity.sessions ORDER BY id"))
    assert [(str(row["id"]), row["reason"]) for row in sessions] == [(S1, "reuse"), (S2, "role_changed")]
    (alert,) = await connection.fetch(placed("SELECT * FROM rm_identity.alerts"))
    assert (alert["kind"], alert["subject"]) == ("refresh_token_reused", S1)
    assert alert["raised_at"] > datetime(2026, 1, 1, tzinfo=UTC)
    events = await connection.fetch(placed("SELECT type, entities, data FROM rm_identity.events ORDER BY seq"))
    assert len(events) == last
    assert {row["data"] for row in events} == {"{}"}
    assert events[2]["entities"] == [S1, KIM]
