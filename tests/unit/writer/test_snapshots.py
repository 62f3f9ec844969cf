"""Snapshots on their way from the state to the store: streamed out of a forked child, whole or not at all."""

from __future__ import annotations

import os
import signal
import tempfile
from datetime import UTC, datetime

import msgspec
import pytest

from drover.domain.decider import Command, Decider, Tick, answer
from drover.domain.event import Event, TermStarted
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import CHUNK_BYTES, MemorySnapshots
from drover.testing.clock import VirtualClock
from drover.testing.waiting import eventually
from drover.writer import forked_image
from drover.writer.fold import Fold
from drover.writer.snapshots import SNAPSHOT_EVERY_S, Snapshotter
from tests.small_disk import small_disk

PARTITION = Partition("blob")
BYTES = 3 * CHUNK_BYTES + 17


class Noted(Event):
    pass


class Note(Command):
    pass


class Blob(msgspec.Struct):
    data: bytes = b""


def decider(to_image=lambda blob: blob) -> Decider[Blob]:
    return Decider(
        context=PARTITION.context,
        initial=Blob,
        decide=lambda blob, command, now: answer(None),
        evolve=lambda blob, event: blob,
        next_deadline=lambda blob: None,
        commands=Note | Tick,
        events=Noted | TermStarted,
        state=Blob,
        to_image=to_image,
    )


def fold_of(data: bytes, to_image=lambda blob: blob) -> Fold[Blob]:
    fold = Fold(decider(to_image))
    fold.state, fold.n, fold.seq, fold.at = Blob(data), 7, 7, datetime(2026, 1, 1, tzinfo=UTC)
    return fold


class Chunks(MemorySnapshots):
    """Notes how large the pieces were that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    async def save(self, partition, version, data, *, seq, commit) -> int:
        async def noted():
            async for chunk in data:
                self.sizes.append(len(chunk))
                yield chunk

        return await super().save(partition, version, noted(), seq=seq, commit=commit)


async def saved(store: MemorySnapshots, fold: Fold[Blob]) -> Fold[Blob] | None:
    """What is loaded after the fold was to be saved."""
    snapshotter = Snapshotter(decider(), PARTITION, store)
    snapshotter.take(fold)
    await snapshotter.settle()
    return await Snapshotter(decider(), PARTITION, store).load()


async def test_a_snapshot_larger_than_the_temporary_folder_is_saved(tmp_path, monkeypatch):
    data = os.urandom(BYTES)
    with small_disk(tmp_path / "tiny", "64k") as tiny:
        monkeypatch.setattr(tempfile, "tempdir", str(tiny))
        found = await saved(MemorySnapshots(), fold_of(data))
    assert found is not None
    assert found.state.data == data


async def test_a_snapshot_needs_no_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    found = await saved(MemorySnapshots(), fold_of(b"state"))
    assert found is not None
    assert found.state.data == b"state"


async def test_a_snapshot_comes_in_chunks_that_a_store_can_take():
    store = Chunks()
    assert await saved(store, fold_of(os.urandom(BYTES))) is not None
    assert len(store.sizes) == 4
    assert max(store.sizes) == CHUNK_BYTES


@pytest.fixture
def children(monkeypatch) -> list[int]:
    """Those that were forked, by their ids."""
    forked: list[int] = []
    fork = os.fork

    def remembered() -> int:
        pid = fork()
        forked.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", remembered)
    return forked


async def test_a_child_that_dies_midway_saves_nothing_and_leaves_the_snapshot_before_it(children):
    class Killing(Chunks):
        async def save(self, partition, version, data, *, seq, commit) -> int:
            async def killed():
                async for chunk in data:
                    yield chunk
                    os.kill(children[-1], signal.SIGKILL)

            return await super().save(partition, version, killed(), seq=seq, commit=commit)

    store, killing = MemorySnapshots(), Killing()
    killing.kept = store.kept
    assert await saved(store, fold_of(b"before")) is not None
    found = await saved(killing, fold_of(os.urandom(BYTES)))
    assert killing.sizes[0] == CHUNK_BYTES, "it had begun"
    assert found is not None
    assert found.state.data == b"before"


async def test_a_state_that_cannot_be_encoded_saves_nothing():
    def broken(blob: Blob) -> Blob:
        raise ValueError("a rule with a fault")

    assert await saved(MemorySnapshots(), fold_of(b"state", broken)) is None


@pytest.mark.parametrize("chunks", [0, 1])
async def test_a_store_that_gives_up_leaves_neither_a_child_nor_a_pipe_behind(children, chunks):
    class Failing(MemorySnapshots):
        async def save(self, partition, version, data, *, seq, commit) -> int:
            left = chunks
            while left:
                await anext(data)
                left -= 1
            raise ConnectionError("the store is away")

    before = open_files()
    assert await saved(Failing(), fold_of(os.urandom(BYTES))) is None
    assert not is_left(children[0])
    await eventually(lambda: open_files() == before)


def is_left(child: int) -> bool:
    """Whether it runs, or has ended and nobody knows."""
    try:
        os.waitpid(child, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_child_that_says_nothing_is_not_waited_for(children, monkeypatch):
    monkeypatch.setattr(forked_image, "SILENT_S", 0.05)
    assert await saved(MemorySnapshots(), fold_of(b"state", lambda blob: signal.pause())) is None
    assert not is_left(children[0])


@pytest.mark.req("YR-05")
async def test_a_damaged_newest_snapshot_gives_way_to_the_one_before_it():
    store = MemorySnapshots()
    for seq, data in ((7, b"before"), (8, b"newest")):
        fold = fold_of(data)
        fold.seq = seq
        assert (await saved(store, fold)).state.data == data
    newest = (await store.infos(PARTITION))[0]
    store.kept[newest] = store.kept[newest][:-3]
    found = await Snapshotter(decider(), PARTITION, store).load()
    assert found.state.data == b"before"


@pytest.mark.req("YR-05")
async def test_a_snapshot_that_is_replaced_while_it_is_read_is_read_anew():
    class Replaced(MemorySnapshots):
        """Two newer snapshots arrive while the first one is read."""

        async def read(self, info):
            if info.seq == 7:
                for seq in (8, 9):
                    fold = fold_of(b"newer")
                    fold.seq = seq
                    await saved(self, fold)
            async for chunk in super().read(info):
                yield chunk

    store = Replaced()
    snapshotter = Snapshotter(decider(), PARTITION, store)
    snapshotter.take(fold_of(b"first"))
    await snapshotter.settle()
    found = await Snapshotter(decider(), PARTITION, store).load()
    assert (found.seq, found.state.data) == (9, b"newer")


@pytest.mark.req("YR-05")
async def test_a_snapshot_is_due_after_a_day_however_few_events_there_were():
    clock, fold = VirtualClock(), fold_of(b"state")
    snapshotter = Snapshotter(decider(), PARTITION, MemorySnapshots(), clock=clock)
    assert not snapshotter.is_due(fold)
    clock.advance(seconds=SNAPSHOT_EVERY_S)
    assert snapshotter.is_due(fold)
    snapshotter.take(fold)
    await snapshotter.settle()
    assert not snapshotter.is_due(fold)


@pytest.mark.req("YR-06")
async def test_an_archived_snapshot_is_used_if_the_store_has_none():
    archived = MemorySnapshots()
    assert await saved(archived, fold_of(b"archived")) is not None
    found = await Snapshotter(decider(), PARTITION, MemorySnapshots(), archived=archived).load()
    assert found.state.data == b"archived"
