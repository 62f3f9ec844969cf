"""The guard of the disk with a real server: limits of real logs, and a restart that they survive."""

from pathlib import Path

import pytest

from drover.bus.connection import connected
from drover.domain.contexts import CONTEXTS
from drover.embedded.nats import nats_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, LogFull, Partition
from drover.eventlog.quotas import log_size
from drover.eventlog.streams import ensure_stream
from drover.platform import disk_guard
from drover.platform.disk_guard import EMPTY_BYTES, Room, guarding_disk
from drover.testing.waiting import eventually

LOG_MAX = 10_000_000
TOTAL = 100 * 1024**3
AMPLE, SHORT, EMPTY = TOTAL // 2, TOTAL // 100, EMPTY_BYTES - 1


@pytest.mark.req("YR-12")
async def test_logs_are_limited_stopped_and_released_and_the_server_is_restarted_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    free, looks = AMPLE, 0

    def look(folder):
        nonlocal looks
        looks += 1
        return Room(free, TOTAL)

    monkeypatch.setattr(disk_guard, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(Room, "of", look)
    async with nats_server(tmp_path) as server, connected(server.url, "test") as client:
        for context in CONTEXTS:
            await ensure_stream(client, context)
        fleet, identity = (JetStreamLog(client, Partition(context)) for context in ("fleet", "identity"))

        async def fleet_is_limited_to(size):
            return (await log_size(client, "fleet")).bytes_max == size

        async with guarding_disk(server, tmp_path, nats_url=server.url, log_max=LOG_MAX):
            await eventually(lambda: fleet_is_limited_to(LOG_MAX))
            last = await fleet.append(Commit("c1", 1, b"{}\n"), 0)
            stored = (await log_size(client, "fleet")).bytes

            free = SHORT
            await eventually(lambda: fleet_is_limited_to(stored))
            with pytest.raises(LogFull):
                await fleet.append(Commit("c2", 1, b"{}\n"), last)
            assert await identity.append(Commit("i1", 1, b"{}\n"), 0) == 1, "people can still sign in"

            free, pid, looked = EMPTY, server.pid, looks
            await eventually(lambda: looks > looked + 1)
            assert server.pid == pid, "not before there is room"
            free = AMPLE
            await eventually(lambda: server.pid not in (0, pid))
            await eventually(lambda: client.is_connected)
            await eventually(lambda: fleet_is_limited_to(LOG_MAX))
            assert await fleet.append(Commit("c2", 1, b"{}\n"), last) == last + 1
