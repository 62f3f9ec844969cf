"""The positions of readers that resume where they stopped, read from Postgres and from the notifier's ledger."""

import pytest
from uuid_utils import uuid4

from drover.archiver.positions import NOTIFIER, READ_MODEL, ReaderPositions
from drover.bus.connection import connected
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.log import Partition
from drover.notifier.ledger import BUCKET, NatsLedger, Position
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool

pytestmark = pytest.mark.req("YR-01")

CHECKPOINT = "INSERT INTO drover.checkpoints (schema, partition, context, seq) VALUES ($1, $2, $3, $4)"
HISTORY = """
INSERT INTO drover.fold_checkpoints (context, partition, version, seq, n, at, image)
VALUES ($1, $2, $3, $4, 0, now(), '')
"""


@pytest.fixture
async def pool(postgres_dsn):
    await migrate(postgres_dsn)
    async with open_pool(postgres_dsn, "test", 2) as pool:
        yield pool


@pytest.fixture
async def client(own_nats):
    async with connected(own_nats.url, "test") as client:
        yield client


async def test_every_reader_with_a_position_of_its_own_is_asked(pool, client):
    context = f"c{uuid4().hex[:12]}"
    one, two = Partition(context, "p0"), Partition(context, "p1")
    positions = ReaderPositions(client, pool, lambda context: "v2")
    assert await positions.of(context, [one, two]) == {"p0": {READ_MODEL: 0}, "p1": {READ_MODEL: 0}}

    await pool.execute(CHECKPOINT, "rm_one", "p0", context, 30)
    await pool.execute(CHECKPOINT, "rm_one_rebuilt", "p0", context, 12)
    await pool.execute(CHECKPOINT, "rm_one", "p1", context, 31)
    for seq in (10, 20):
        await pool.execute(HISTORY, context, "p1", "v2", seq)
    await pool.execute(HISTORY, context, "p1", "v1", 3)  # of an earlier release: nobody goes on with it
    await ensure_bucket(client, BUCKET)
    ledger = NatsLedger(client)
    assert await ledger.position(context) is None
    await ledger.set_position(context, Position(25))
    assert await positions.of(context, [one, two]) == {
        "p0": {"the read model rm_one": 30, "the read model rm_one_rebuilt": 12, NOTIFIER: 25},
        "p1": {"the read model rm_one": 31, "the history": 20, NOTIFIER: 25},
    }
