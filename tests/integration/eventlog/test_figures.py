"""How large the log is and whether its servers sync, as Prometheus gets it, from a real NATS."""

from __future__ import annotations

import pytest
from prometheus_client.registry import CollectorRegistry

from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.eventlog import metrics
from drover.eventlog.durability import DurabilityUnknown
from drover.eventlog.figures import LogFigures
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.streams import ensure_stream
from drover.platform.durability import check_again, check_durability
from drover.testing.waiting import eventually
from tests.settings import load

pytestmark = pytest.mark.req("EV-07")


async def test_commits_and_bytes_of_each_log_are_told(own_nats):
    registry = CollectorRegistry()
    async with connected(own_nats.url, "test") as client:
        await ensure_stream(client, "fleet")
        await JetStreamLog(client, Partition("fleet")).append(Commit("c1", 1, b"{}\n"), 0)
        async with LogFigures(client, ["fleet", "render"], registry=registry) as figures:
            await eventually(lambda: figures._known)
            told = registry.get_sample_value
            assert told("drover_log_commits", {"context": "fleet"}) == 1
            assert told("drover_log_bytes", {"context": "fleet"}) > 0
            assert told("drover_log_stale_replicas", {"context": "fleet"}) == 0
            assert told("drover_log_commits", {"context": "render"}) is None  # it has no stream


def settings_of(nats, **more):
    return load(
        {
            "DROVER_NATS_URL": nats.url,
            "DROVER_NATS_SYSTEM_URL": nats.system_url,
            "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
            "DROVER_JWT_SECRETS": "s" * 32,
        }
        | more
    )


async def test_servers_that_sync_are_told_of_with_how_full_they_are(nats):
    await check_durability(settings_of(nats))
    assert metrics.SYNCED._value.get() == 1
    assert all(limit._value.get() > 0 for limit in metrics.STORE_LIMIT._metrics.values())
    assert metrics.STORE_USED._metrics.keys() == metrics.STORE_LIMIT._metrics.keys() != set()
    metrics.SYNCED.set(0)
    await check_again(settings_of(nats))
    assert metrics.SYNCED._value.get() == 1


async def test_a_server_that_syncs_no_more_is_told_of_while_everything_goes_on(tmp_path):
    metrics.SYNCED.set(1)
    async with nats_server(tmp_path, sync_always=False) as server:
        await check_again(settings_of(server))
    assert metrics.SYNCED._value.get() == 0


async def test_what_is_not_known_counts_as_not_synced(nats):
    metrics.SYNCED.set(1)
    await check_durability(settings_of(nats, DROVER_ALLOW_UNSYNCED="1"))
    assert metrics.SYNCED._value.get() == 0
    with pytest.raises(DurabilityUnknown):
        await check_durability(settings_of(nats, DROVER_NATS_SYSTEM_URL=""))
