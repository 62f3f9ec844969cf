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


async def one_round(store, keeper, stream, first=1):
    """Archive and check; return the newest commits and the files that this took."""
    store.used.clear()
    await keeper.archive(stream.logs)
    lasts = await keeper.lasts()
    await keeper.check(first, max(lasts.values()))
    return lasts, list(store.used)


async def test_each_segment_is_read_back_once_and_a_round_of_a_long_archive_uses_no_more_files(tmp_path):
    store, stream = CountingStore(tmp_path), Stream("p0", "p1").grown(20)
    keeper = ArchiveKeeper(store, "fleet")
    await one_round(store, keeper, stream)
    used = []
    for rounds in range(1, 40):
        found, files = await one_round(store, keeper, stream.grown(4), first=4 * rounds)
        assert found == {"p0": 19 + 4 * rounds, "p1": 20 + 4 * rounds}
        assert "fleet" not in files, "the folder is not listed"
        assert len([name for name in files if name.startswith("index-")]) <= 3
        used.append(len(files))
    assert max(used[20:]) <= max(used[:20]) <= 8
    await one_round(store, keeper, stream, first=160)
    found, files = await one_round(store, keeper, stream, first=160)
    assert [name for name in files if name.endswith(".zst")] == [], "nothing is new, so nothing is read"


async def test_a_keeper_reads_back_what_is_to_leave_and_nothing_else(tmp_path):
    store, stream = CountingStore(tmp_path), Stream("p0", "p1").grown(100)
    await ArchiveKeeper(store, "fleet").archive(stream.logs)
    for path in sorted(tmp_path.glob("fleet/*.zst"))[:3]:
        path.write_bytes(b"damaged")
    with pytest.raises(FileDamaged):
        await ArchiveKeeper(store, "fleet").check(1, 100)
    await ArchiveKeeper(store, "fleet").check(51, 100)


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
