"""The collection of pictures: how many are kept, for how long, and what happens when there is no room."""

from __future__ import annotations

import asyncio
import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from drover.archive import folder_store
from drover.archive.folder_store import FolderStore
from drover.evidence.collection import Evidence, EvidenceFull, EvidenceUnreachable, TooManyPictures
from drover.evidence.pictures import PictureType
from drover.evidence.reference import Reference
from drover.service.disk_room import Room
from drover.testing.waiting import eventually
from tests.unit.evidence.pictures import png

pytestmark = pytest.mark.req("DF-30")

DEVICE, OTHER = (f"00000000-0000-7000-9000-00000000000{n}" for n in (1, 2))
WORK, LATER = (f"00000000-0000-7000-8000-00000000000{n}" for n in (1, 2))
AMPLE, SHORT = Room(free=10**12, total=10**12), Room(free=10**6, total=10**12)


class World:
    def __init__(self, folder) -> None:
        self.folder = folder
        self.now = datetime(2026, 11, 18, 23, 59, tzinfo=UTC)
        self.room = AMPLE
        self.evidence = self.opened()

    def opened(self) -> Evidence:
        """The collection as another process has it."""
        return Evidence(
            FolderStore(self.folder), keep_days=30, per_day=3, room=lambda: self.room, clock=lambda: self.now
        )

    async def add(self, text: str, *, device: str = DEVICE, work: str = WORK) -> Reference:
        data = png(noise=text.encode())
        day = self.evidence.today()
        picture = Reference.of(data, PictureType.PNG, day=day, device_id=device, assignment_id=work, run=1)
        await self.evidence.add(picture, data)
        return picture

    @property
    def files(self) -> int:
        return sum(path.is_file() for path in self.folder.rglob("*"))


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "evidence")


async def test_what_is_added_is_read_by_any_process_and_only_its_owner_may_open_the_file(world):
    picture = await world.add("a")
    assert await world.opened().read(picture) == png(noise=b"a")
    path = world.folder / picture.name
    assert [oct(one.stat().st_mode & 0o777) for one in (path, path.parent, world.folder)] == ["0o600", "0o700", "0o700"]


async def test_the_same_picture_again_is_kept_once(world):
    assert await world.add("a") == await world.add("a")
    assert world.files == 1


async def test_a_device_may_add_so_many_a_day_and_others_as_many(world):
    for text in "abc":
        await world.add(text)
    with pytest.raises(TooManyPictures) as refused:
        await world.add("d")
    assert refused.value.again_at == datetime(2026, 11, 19, tzinfo=UTC)
    await world.add("a")  # a repeat of one that is kept
    await world.add("d", device=OTHER)
    world.now += timedelta(minutes=2)
    await world.add("d")
    assert world.files == 5


async def test_uploads_at_the_same_time_do_not_pass_the_bound(world):
    added = await asyncio.gather(*(world.add(str(n)) for n in range(10)), return_exceptions=True)
    assert world.files <= 3
    assert sum(isinstance(one, TooManyPictures) for one in added) >= 7


async def test_a_picture_is_gone_after_its_days_even_before_it_is_swept(world):
    picture = await world.add("a")
    world.now += timedelta(days=30)
    assert await world.evidence.sweep() == 0
    assert await world.evidence.read(picture) is not None
    world.now += timedelta(days=1)
    assert await world.evidence.read(picture) is None
    assert world.now >= picture.expires_at(30)
    kept = await world.add("b")
    assert await world.evidence.sweep() == 1
    assert world.files == 1
    assert await world.evidence.read(kept) is not None


async def test_a_sweep_touches_nothing_that_is_not_ours(world):
    await world.add("a")
    other = world.folder / "fleet"
    other.mkdir()
    (other / "index.json").write_text("{}")
    world.now += timedelta(days=40)
    async with world.evidence.sweeping(every_s=0.01):
        await eventually(lambda: world.files == 1)
    assert (other / "index.json").exists()


async def test_an_empty_collection_can_be_swept_read_and_erased(world):
    assert await world.evidence.sweep() == 0
    assert await world.evidence.erase(DEVICE) == 0


async def test_the_pictures_of_a_device_or_of_one_assignment_are_erased(world):
    first, second = await world.add("a"), await world.add("b", work=LATER)
    other = await world.add("a", device=OTHER)
    assert await world.evidence.erase(DEVICE, WORK) == 1
    assert await world.evidence.read(first) is None
    assert await world.evidence.read(second) is not None
    world.now += timedelta(days=1)
    await world.add("c")
    assert await world.evidence.erase(DEVICE) == 2
    assert await world.evidence.read(second) is None
    assert await world.evidence.read(other) is not None


@pytest.mark.req("SE-09")
async def test_a_picture_whose_writing_a_crash_cut_off_is_erased_with_its_assignment(world):
    picture = await world.add("a")
    (world.folder / picture.folder / f".{picture.file}.x1y2").write_bytes(png()[:20])
    (world.folder / picture.folder / f".{picture.file.replace(WORK, LATER)}.x1y2").write_bytes(png()[:20])
    assert await world.evidence.erase(DEVICE, WORK) == 2
    (left,) = [path.name for path in world.folder.rglob("*") if path.is_file()]
    assert left.startswith(f".{LATER}.")


@pytest.mark.req("SE-09")
async def test_pictures_are_erased_although_others_come_and_go_meanwhile(world, monkeypatch):
    for text in "abc":
        await world.add(text)
    (folder,) = {path.parent for path in world.folder.rglob("*.png")}
    unlink, rmdir, came = os.unlink, os.rmdir, []

    def unlink_too_late(path, **how):
        """Another process deletes the first file, or gives it its final name, just before this one."""
        unlink(path, **how)
        if not came:
            came.append("gone")
            raise FileNotFoundError(errno.ENOENT, "gone", path)

    def rmdir_too_early(path, **how):
        """A picture arrives just before its folder is removed."""
        if came == ["gone"] and Path(path).name == folder.name:
            came.append("late")
            (folder / "late.png").write_bytes(png())
        rmdir(path, **how)

    monkeypatch.setattr(os, "unlink", unlink_too_late)
    monkeypatch.setattr(os, "rmdir", rmdir_too_early)
    assert await world.evidence.erase(DEVICE) == 3
    assert came == ["gone", "late"] and world.files == 0


async def test_a_picture_is_kept_although_its_folder_is_removed_meanwhile(world, monkeypatch):
    write = folder_store.write_private

    def removed_before(path, data):
        monkeypatch.setattr(folder_store, "write_private", write)
        path.parent.rmdir()
        write(path, data)

    monkeypatch.setattr(folder_store, "write_private", removed_before)
    assert await world.evidence.read(await world.add("a")) is not None


@pytest.mark.req("SE-09")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
async def test_where_the_folder_cannot_be_read_nobody_is_told_that_there_are_no_pictures(world, monkeypatch, number):
    await world.add("a")

    def unreadable(self):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("pathlib.Path.iterdir", unreadable)
    with pytest.raises(EvidenceUnreachable):
        await world.evidence.erase(DEVICE)
    with pytest.raises(EvidenceUnreachable):
        await world.evidence.sweep()


async def test_pictures_leave_the_room_on_the_disk_that_the_log_needs(world):
    world.room = SHORT
    with pytest.raises(EvidenceFull):
        await world.add("a")
    assert world.files == 0


@pytest.mark.parametrize(
    ("number", "fault"),
    [(errno.ENOSPC, EvidenceFull), (errno.EDQUOT, EvidenceFull), (errno.EACCES, EvidenceUnreachable)],
)
async def test_a_disk_that_refuses_leaves_nothing_behind(world, monkeypatch, number, fault):
    def refuse(path, data):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(folder_store, "write_private", refuse)
    with pytest.raises(fault):
        await world.add("a")
    assert world.files == 0
