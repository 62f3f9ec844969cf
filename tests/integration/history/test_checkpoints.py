"""Checkpoints of several versions side by side in Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest

from drover.eventlog.snapshots import UNUSED_VERSION_KEPT_FOR, SnapshotDamaged
from drover.history.checkpoints import FoldCheckpoints
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.writer.fold import encode_image
from tests.chunks import each, latest
from tests.unit.writer.test_snapshots import PARTITION, fold_of

pytestmark = pytest.mark.req("YR-05")


@pytest.fixture
async def checkpoints(postgres_dsn) -> AsyncIterator[FoldCheckpoints]:
    await migrate(postgres_dsn)
    async with open_pool(postgres_dsn, "test", 2) as pool:
        yield FoldCheckpoints(pool)


async def save(checkpoints: FoldCheckpoints, version: str, seq: int, days: float = 0) -> None:
    fold = fold_of(b"state %d" % seq)
    fold.seq, fold.at = seq, fold.at + timedelta(days=days)
    await checkpoints.save(PARTITION, version, each(encode_image(fold)), seq=seq, commit="c")


async def test_the_newest_of_each_version_is_listed_and_read(checkpoints):
    for version, seq in (("v1", 1), ("v1", 2), ("v2", 5)):
        await save(checkpoints, version, seq)
    infos = await checkpoints.infos(PARTITION)
    assert [(info.version, info.seq) for info in infos] == [("v2", 5), ("v1", 2)]
    assert b"state 2" in await latest(checkpoints, PARTITION, "v1")
    with pytest.raises(SnapshotDamaged):
        [chunk async for chunk in checkpoints.read(msgspec.structs.replace(infos[0], seq=9))]


async def test_a_version_that_runs_beside_another_keeps_its_checkpoints(checkpoints):
    beside = fold_of(b"").at + timedelta(days=100)
    await save(checkpoints, "old", 1)
    await save(checkpoints, "beside", 1)
    await save(checkpoints, "beside", 2, days=99)
    await save(checkpoints, "ours", 3, days=100)
    await checkpoints.forget_unused(PARTITION, beside)
    assert {info.version for info in await checkpoints.infos(PARTITION)} == {"beside", "ours"}
    assert await checkpoints.before(PARTITION, "beside", beside - UNUSED_VERSION_KEPT_FOR) is not None
