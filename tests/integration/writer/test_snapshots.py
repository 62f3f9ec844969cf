"""Large snapshots on a real server: streamed from the child to the store, with no room for a file on the way."""

from __future__ import annotations

import os
import tempfile
import tracemalloc

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog.log import Partition
from drover.eventlog.snapshots import CHUNK_BYTES, JetStreamSnapshots
from drover.writer.snapshots import Snapshotter
from tests.small_disk import small_disk
from tests.unit.writer.test_snapshots import decider, fold_of

BYTES = 70 * 1024 * 1024
"""More than `/tmp` has in the containers that are shipped."""
HELD_BYTES_MAX = 16 * CHUNK_BYTES
pytestmark = pytest.mark.timeout(120)


async def test_a_snapshot_of_seventy_megabytes_passes_through_a_few_chunks_of_memory(own_nats, tmp_path, monkeypatch):
    data, partition = os.urandom(BYTES), Partition(f"blob{uuid4().hex[:10]}")
    with small_disk(tmp_path / "tiny", "64k") as tiny:
        monkeypatch.setattr(tempfile, "tempdir", str(tiny))
        async with connected(own_nats.url, "test") as client:
            store = JetStreamSnapshots(client)
            await store.ensure()
            snapshotter = Snapshotter(decider(), partition, store)
            tracemalloc.start()
            try:
                snapshotter.take(fold_of(data))
                await snapshotter.settle()
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            found = await Snapshotter(decider(), partition, store).load()
    assert found is not None
    assert found.state.data == data
    assert peak < HELD_BYTES_MAX, "the parent held more than a few chunks"
