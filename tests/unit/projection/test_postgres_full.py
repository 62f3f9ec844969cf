"""A projection whose Postgres has no room: it waits, says so, and goes on by itself."""

import asyncio
from types import SimpleNamespace

import asyncpg
import pytest

from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.projection import metrics, runtime
from drover.projection.checkpoint import Checkpoint
from drover.projection.runtime import Runner
from drover.projector.fleet import FLEET_PROJECTION
from drover.testing.waiting import eventually


@pytest.mark.req("YR-12")
async def test_a_full_disk_is_told_until_rows_are_written_again(monkeypatch):
    monkeypatch.setattr(runtime.RETRY.__class__, "pause_s", lambda *_: 0.0)
    runner = Runner(FLEET_PROJECTION, MemoryLog(Partition("fleet")), "")
    shown = metrics.DISK_FULL.labels("fleet", "main")._value.get
    terms = 0
    has_room = asyncio.Event()

    async def write(*_):
        pass

    async def term():
        nonlocal terms
        terms += 1
        if not has_room.is_set():
            raise asyncpg.DiskFullError("could not extend file")
        old, new = Checkpoint(), Checkpoint()
        folded = SimpleNamespace(changes=None, old=old, new=new, behind=0, since=None, traces=())
        await runner._write(folded, SimpleNamespace(write=write))
        await runner._stop.wait()

    monkeypatch.setattr(runner, "_term", term)
    async with runner:
        assert shown() == 0
        await eventually(lambda: terms > 3)
        assert shown() == 1
        assert runner.stopped is None
        has_room.set()
        await eventually(lambda: shown() == 0)
