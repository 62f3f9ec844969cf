"""From one NATS node to three, with real servers: archive, restore, `drover log replicas`, and one node dies."""

from __future__ import annotations

import asyncio
import json

import pytest

from drover.bus.connection import connected
from drover.cli.exits import Exit
from drover.cli.log_replicas import STREAMS
from drover.domain.contexts import CONTEXTS
from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.eventlog.streams import TooFewReplicas
from drover.notifier.ledger import BUCKET as LEDGER
from drover.testing.waiting import eventually
from drover.web.key_bucket import BUCKET as KEYS
from drover.writer.nats_writer import prepare
from tests.chaos.cluster import Cluster, Node, _has_leader
from tests.e2e.process import free_port

from .conftest import Written, pc

pytestmark = pytest.mark.req("EV-02")

BEFORE, AFTER = 30, 5
RAISE_S = 120.0


@pytest.fixture
async def nodes(tmp_path):
    """Three empty nodes. None of them runs yet."""
    cluster = Cluster(tmp_path)
    yield cluster
    await asyncio.gather(*(node.stop() for node in cluster.nodes))


@pytest.fixture
async def single(tmp_path):
    """One node that is no part of a cluster."""
    node = Node(0, tmp_path / "alone", [free_port()], [free_port()])
    settings = json.loads(node._config.read_text())
    del settings["cluster"]
    node._config.write_text(json.dumps(settings))
    await node.start()
    yield node
    await node.stop()


def at(node):
    return {
        "DROVER_NATS_URL": node.url_as("drover"),
        "DROVER_NATS_SYSTEM_URL": node.url_as("sys"),
        "DROVER_POSTGRES_URL": "postgresql://nobody@127.0.0.1:1/none",
        "DROVER_HTTP_PORT": "0",
    }


async def commits(client, until):
    log = JetStreamLog(client, Partition("fleet"))
    found = []
    async with log.read(0) as reader:
        while not found or found[-1].seq < until:
            found += await reader.next()
    return [(commit.seq, commit.id, commit.payload) for commit in found]


async def test_one_node_becomes_three_and_any_of_them_may_die(single, nodes, drover, tmp_path):
    archive = str(tmp_path / "archive")
    async with connected(single.url_as("drover"), "test") as client:
        await prepare(client, CONTEXTS)
        written = Written(client, "fleet")
        for number in range(BEFORE):
            await written.commit(pc(f"pc-{number}"))
        kept = await commits(client, BEFORE)
    ended = await drover("log", "replicas", "3", **at(single))
    assert (ended.code, ended.out) == (Exit.CONFIGURATION, "")
    assert "Start 3 nodes as one cluster first" in ended.err
    ended = await drover("archive", "create", archive, **at(single))
    assert ended.code == 0, ended.err
    await single.stop()

    second = nodes.nodes[1]
    await asyncio.gather(*(node.start() for node in nodes.nodes))
    async with connected(nodes.url, "test") as client:
        await eventually(lambda: _has_leader(client), RAISE_S)
        ended = await drover("archive", "restore", archive, **at(second))
        assert ended.code == 0, ended.err
        await prepare(client, CONTEXTS)
        await ensure_bucket(client, LEDGER)
        await ensure_bucket(client, KEYS)
        with pytest.raises(TooFewReplicas, match="drover log replicas 3"):
            await prepare(client, CONTEXTS, replicas=3)

        ended = await drover("log", "replicas", "3", **at(second))
        assert ended.code == 0, ended.err
        assert "FLEET: 1 -> 3" in ended.out
        assert f"{len(STREAMS)} streams have 3 replicas each, all current" in ended.out
        await prepare(client, CONTEXTS, replicas=3)
        written = Written(client, "fleet")
        written.n = written.seq = BEFORE
        for number in range(AFTER):
            await written.commit(pc(f"new-{number}"))
        dies = await nodes.leader(client, "FLEET")

    await dies.kill()
    left = ",".join(node.url_as("drover") for node in nodes.nodes if node is not dies)
    async with connected(left, "test") as client:
        await eventually(lambda: _has_leader(client), RAISE_S)
        await nodes.info(client, "FLEET")
        found = await commits(client, BEFORE + AFTER)
        assert found[:BEFORE] == kept
        assert len(found) == BEFORE + AFTER
        written = Written(client, "fleet")
        written.n = written.seq = BEFORE + AFTER
        assert await written.commit(pc("after")) == BEFORE + AFTER + 1
