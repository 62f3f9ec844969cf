"""States of the past in Postgres and in the archive: which stay, which are found, and whose are removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from drover.eventlog.log import Partition
from drover.eventlog.snapshots import SnapshotDamaged
from drover.history.checkpoints import FoldCheckpoints
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.writer.fold import FoldImage
from tests.chunks import each, latest

pytestmark = pytest.mark.req("YR-09")

FLEET = Partition("fleet")
START = datetime(2026, 3, 1, tzinfo=UTC)
HOURLY_DAYS = 40


class Archive:
    def __init__(self):
        self.images = {}
        self.is_away = self.is_damaged = False

    async def put(self, partition, version, seq, at, image):
        if self.is_away:
            raise ConnectionError("the archive is away")
        self.images[version, at] = image

    async def nearest_before(self, partition, version, at):
        if self.is_damaged:
            raise SnapshotDamaged("checksum differs")
        fitting = [key for key in self.images if key[0] == version and key[1] <= at]
        return self.images[max(fitting)] if fitting else None


def image_of(seq, at):
    return msgspec.msgpack.encode(FoldImage(seq, seq * 10, at, 1, [], msgspec.Raw(b"\xc0")))


async def save(checkpoints, seq, at, version="v1"):
    await checkpoints.save(FLEET, version, each(image_of(seq, at)), seq=seq, commit="c")
    await checkpoints.archive_daily(FLEET, version)


async def moments(pool, version="v1"):
    rows = await pool.fetch("SELECT at FROM drover.fold_checkpoints WHERE version = $1 ORDER BY at", version)
    return [row["at"] for row in rows]


@pytest.fixture
async def pool(postgres_dsn):
    await migrate(postgres_dsn)
    async with open_pool(postgres_dsn, "history", 2) as pool:
        yield pool


async def test_old_checkpoints_are_thinned_with_every_new_one(pool):
    checkpoints = FoldCheckpoints(pool)
    for number in range(4 * 24 * 2):
        await save(checkpoints, number + 1, START + number * timedelta(minutes=15))
    kept = await moments(pool)
    assert len(kept) < 35
    assert START in kept
    found = await checkpoints.before(FLEET, {"v1": None}, START + timedelta(hours=12))
    assert msgspec.msgpack.decode(found, type=FoldImage).at == START, "that of the day is as near as it gets"


async def test_one_state_of_each_day_goes_to_the_archive_and_is_found_there(pool):
    archive = Archive()
    checkpoints = FoldCheckpoints(pool, archive)
    for number in range(4 * HOURLY_DAYS):
        await save(checkpoints, number + 1, START + number * timedelta(hours=6))
    assert sorted(archive.images) == [("v1", START + timedelta(days=day)) for day in range(HOURLY_DAYS)]
    assert min(await moments(pool)) > START + timedelta(days=9), "Postgres keeps a month of them"
    found = await checkpoints.before(FLEET, {"v1": None}, START + timedelta(days=3, hours=5))
    assert msgspec.msgpack.decode(found, type=FoldImage).at == START + timedelta(days=3)


async def test_a_damaged_state_in_the_archive_only_makes_the_way_longer(pool):
    archive = Archive()
    archive.is_damaged = True
    checkpoints = FoldCheckpoints(pool, archive)
    await save(checkpoints, 1, START)
    found = await checkpoints.before(FLEET, {"v1": None}, START + timedelta(days=3))
    assert msgspec.msgpack.decode(found, type=FoldImage).at == START


async def test_an_archive_that_is_away_is_tried_again_with_the_next_checkpoint(pool):
    archive = Archive()
    archive.is_away = True
    checkpoints = FoldCheckpoints(pool, archive)
    await save(checkpoints, 1, START)
    archive.is_away = False
    await save(checkpoints, 2, START + timedelta(minutes=5))
    assert list(archive.images) == [("v1", START)]


async def test_checkpoints_of_a_version_that_runs_beside_this_one_stay(pool):
    checkpoints = FoldCheckpoints(pool)
    await save(checkpoints, 1, START, "older")
    await save(checkpoints, 1, START, "newer")
    await checkpoints.forget_others(FLEET, {"newer"})
    await checkpoints.forget_others(FLEET, {"older"})
    assert await moments(pool, "older") == await moments(pool, "newer") == [START]


async def test_checkpoints_that_no_program_has_written_for_a_month_are_removed(pool):
    checkpoints = FoldCheckpoints(pool)
    await save(checkpoints, 1, START, "older")
    await save(checkpoints, 1, START, "newer")
    await pool.execute("UPDATE drover.fold_checkpoints SET written_at = now() - interval '31 days'")
    await checkpoints.forget_others(FLEET, {"newer"})
    assert await moments(pool, "older") == []
    assert await moments(pool, "newer") == [START], "its own stay"


@pytest.mark.req("YR-05")
async def test_the_newest_of_each_version_is_listed_and_read(pool):
    checkpoints = FoldCheckpoints(pool)
    for version, seq in (("v1", 1), ("v1", 2), ("v2", 5)):
        await save(checkpoints, seq, START + timedelta(minutes=seq), version)
    infos = await checkpoints.infos(FLEET)
    assert [(info.version, info.seq) for info in infos] == [("v2", 5), ("v1", 2)]
    assert msgspec.msgpack.decode(await latest(checkpoints, FLEET, "v1"), type=FoldImage).seq == 2
    with pytest.raises(SnapshotDamaged):
        [chunk async for chunk in checkpoints.read(msgspec.structs.replace(infos[0], seq=9))]


@pytest.mark.parametrize("where", ["Postgres", "the archive"])
async def test_a_state_of_an_earlier_version_is_found_and_converted(pool, where):
    """Otherwise the first question about a time before an upgrade would fold the log from its first event."""
    checkpoints = FoldCheckpoints(pool, Archive() if where == "the archive" else None)
    await save(checkpoints, 1, START, "oldest")
    await save(checkpoints, 2, START + timedelta(days=1), "older")
    await save(checkpoints, 3, START + timedelta(days=2), "newer")
    if where == "the archive":
        await pool.execute("DELETE FROM drover.fold_checkpoints WHERE version = 'older'")
    versions = {"newer": None, "older": lambda state: {"was": state}}
    found = await checkpoints.before(FLEET, versions, START + timedelta(days=1, hours=5))
    image = msgspec.msgpack.decode(found, type=FoldImage)
    assert (image.seq, msgspec.msgpack.decode(image.state)) == (2, {"was": None})
    assert await checkpoints.before(FLEET, versions, START + timedelta(hours=5)) is None, "nobody can read the oldest"


async def test_checkpoints_of_earlier_versions_that_can_be_read_stay(pool):
    checkpoints = FoldCheckpoints(pool)
    await save(checkpoints, 1, START, "older")
    await pool.execute("UPDATE drover.fold_checkpoints SET written_at = now() - interval '31 days'")
    await checkpoints.forget_others(FLEET, {"newer", "older"})
    assert await moments(pool, "older") == [START]
