"""The archiver's use of the archive: each segment is read back once, and a round does not grow with the archive."""

import pytest

from drover.archive import index as indices
from drover.archive import segment as segments
from drover.archive import writing as writings
from drover.archive.errors import FileDamaged
from drover.archive.folder_store import FolderStore
from drover.archiver.keeper import ArchiveKeeper
from tests.unit.archive.conftest import Stream

pytestmark = pytest.mark.req("YR-01")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(writings, "VOLUME_SEGMENTS", 2)
    for module in (indices, segments):
        monkeypatch.setattr(module, "SEGMENT_TEXT_BYTES", 2_000)


class CountingStore(FolderStore):
    """A folder that notes which files are read and listed."""

    def __init__(self, folder):
        super().__init__(folder)
        self.used = []

    async def read(self, name, bytes_max):
        self.used.append(name.rpartition("/")[2])
        return await super().read(name, bytes_max)

    async def names(self, folder):
        self.used.append(folder)
        return await super().names(folder)


async def one_round(store, keeper, stream, after=0):
    """Archive and check; return the newest commits and the files that this took."""
    store.used.clear()
    await keeper.archive(stream.logs)
    return await keeper.check(after), list(store.used)


async def test_each_segment_is_read_back_once_and_a_round_of_a_long_archive_uses_no_more_files(tmp_path):
    store, stream = CountingStore(tmp_path), Stream("p0", "p1").grown(20)
    keeper = ArchiveKeeper(store, "fleet")
    await one_round(store, keeper, stream)
    used = []
    for rounds in range(1, 40):
        found, files = await one_round(store, keeper, stream.grown(4))
        assert found == {"p0": 19 + 4 * rounds, "p1": 20 + 4 * rounds}
        assert "fleet" not in files, "the folder is not listed"
        assert len([name for name in files if name.startswith("index-")]) <= 1, "only if a volume was just made"
        used.append(len(files))
    assert max(used[20:]) <= max(used[:20]) <= 6
    found, files = await one_round(store, keeper, stream)
    assert files == ["index.json", "index.json"], "nothing is new, so nothing is read"


async def test_a_keeper_that_starts_reads_everything_back_that_is_still_in_the_stream(tmp_path):
    store, stream = CountingStore(tmp_path), Stream("p0", "p1").grown(100)
    await ArchiveKeeper(store, "fleet").archive(stream.logs)
    for path in sorted(tmp_path.glob("fleet/*.zst"))[:3]:
        path.write_bytes(b"damaged")
    with pytest.raises(FileDamaged):
        await ArchiveKeeper(store, "fleet").check(after=0)
    assert await ArchiveKeeper(store, "fleet").check(after=50) == {"p0": 99, "p1": 100}


async def test_an_archive_that_was_replaced_is_read_back_again(tmp_path):
    store, stream = CountingStore(tmp_path), Stream().grown(60)
    keeper = ArchiveKeeper(store, "fleet")
    await one_round(store, keeper, stream)
    for path in tmp_path.glob("fleet/*"):
        path.unlink()
    other = Stream().commit("another").grown(60)
    found, files = await one_round(store, keeper, other)
    assert found == {"main": 61}
    assert set(files) >= {path.name for path in tmp_path.glob("fleet/*.zst")}


async def test_what_a_failed_round_left_behind_is_swept_by_the_next(tmp_path):
    store, stream = CountingStore(tmp_path), Stream().grown(20)
    keeper = ArchiveKeeper(store, "fleet")
    await keeper.archive(stream.logs)
    real, store.replace = store.replace, None  # the index cannot be saved
    with pytest.raises(TypeError):
        await keeper.archive(stream.grown(10).logs)
    store.replace = real
    _, files = await one_round(store, keeper, stream)
    assert "fleet" in files, "the folder was listed"
    _, files = await one_round(store, keeper, stream.grown(1))
    assert "fleet" not in files
