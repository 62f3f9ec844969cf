"""The archive as the archiver uses it: it does not look at everything in every round."""

import pytest

from drover.archive.archive import Archive
from drover.archive.errors import ArchiveUnwritable
from drover.archive.folder_store import FolderStore
from drover.archiver.keeper import ArchiveKeeper
from tests.unit.archive.conftest import Stream

pytestmark = pytest.mark.req("YR-01")


class Listed(FolderStore):
    """Counts how many times its files are listed, and has no room now and then."""

    def __init__(self, directory):
        super().__init__(directory)
        self.lists, self.has_room = 0, True

    async def names(self, folder):
        self.lists += 1
        return await super().names(folder)

    async def write(self, name, data):
        if not self.has_room:
            raise ArchiveUnwritable(name, "No space left on device")
        await super().write(name, data)


async def test_what_a_killed_run_left_is_looked_for_at_the_start_and_after_a_failure(tmp_path):
    store, stream = Listed(tmp_path), Stream()
    keeper = ArchiveKeeper(store, "fleet")
    await keeper.archive(stream.grown(3).logs)
    store.lists = 0
    await keeper.archive(stream.grown(3).logs)
    assert store.lists == 0
    store.has_room = False
    with pytest.raises(ArchiveUnwritable):
        await keeper.archive(stream.grown(3).logs)
    store.has_room = True
    (tmp_path / "fleet" / ".fleet.unfinished").touch()
    await keeper.archive(stream.logs)
    assert store.lists > 0
    assert not (tmp_path / "fleet" / ".fleet.unfinished").exists()
    assert (await Archive.open(store, "fleet")).last == 9
