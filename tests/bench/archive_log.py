"""Archiving against plain reading of the same log, and restoring against a bare loop of atomic batches."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import nats.js.api as api
from nats.aio.client import Client

from drover.archive.archive import Archive
from drover.archive.creating import create
from drover.archive.folder_store import FolderStore
from drover.archive.restoring import restore
from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.refill import Refill
from drover.eventlog.streams import ensure_stream
from drover.service.process import tune_garbage_collection
from tests.bench.report import Figure, at_least

COMMITS = 30_000
EVENTS_EACH = 3
BATCH = 1_000
ROUNDS = 3
EVENT = b'{"type":"AttemptProgressed","assignment_id":"9d0d6786-3a10-814f-9499-%012d","run":1,"attempt":1,"pct":%d,'
ENVELOPE = b'"n":%d,"at":"2026-11-16T13:08:40.263717Z","by":"anon","cause":"01a1e479-58c4-7244-8488-%012d"}\n'


async def figures() -> list[Figure]:
    tune_garbage_collection()
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="drover-bench-")))
        server = await stack.enter_async_context(nats_server(directory / "one"))
        other = await stack.enter_async_context(nats_server(directory / "two"))
        client = await stack.enter_async_context(connected(server.url, "bench"))
        target = await stack.enter_async_context(connected(other.url, "bench"))
        await _fill(client)
        log = JetStreamLog(client, Partition("fleet"))
        events = COMMITS * EVENTS_EACH
        reading = events / await _timed(_read(log))
        store = FolderStore(directory / "archive")
        archiving = events / await _timed(create(store, [log]))
        archive = await Archive.open(store, "fleet")
        began = time.perf_counter()
        assert await archive.verify() == []
        verifying = events / (time.perf_counter() - began)
        pairs = [await _restore(target, archive, number) for number in range(ROUNDS)]
        putting, whole, bare = sorted(pairs, key=lambda pair: pair[0] / pair[2])[ROUNDS // 2]
        return [
            at_least("archive: events read, checked and compressed", archiving, reading, 0.1, "events/s"),
            at_least("archive: events verified", verifying, reading, 0.1, "events/s"),
            at_least("restore: commits put back", putting, bare, 0.7, "commits/s"),
            at_least("restore: commits put back and read back", whole, bare, 0.4, "commits/s"),
        ]


async def _restore(client: Client, archive: Archive, number: int) -> tuple[float, float, float]:
    """How many commits a second are put back; put back and read back; and stored by a bare loop."""
    bare = COMMITS / await _timed(_bare(client, f"bare{number}"))
    await ensure_stream(client, "fleet")
    put_at = began = time.perf_counter()

    def progress(done: int, of: int) -> None:
        nonlocal put_at
        put_at = time.perf_counter()

    await restore(Refill(client, "fleet"), archive, progress=progress)
    ended = time.perf_counter()
    await client.jetstream().delete_stream("FLEET")
    return COMMITS / (put_at - began), COMMITS / (ended - began), bare


async def _bare(client: Client, name: str) -> None:
    config = api.StreamConfig(name=name, subjects=[f"{name}.*"], allow_atomic=True)
    await client.jetstream().add_stream(config)
    for batch in range(COMMITS // BATCH):
        for number in range(1, BATCH + 1):
            headers = {"Nats-Batch-Id": str(batch), "Nats-Batch-Sequence": str(number)}
            payload = _payload(batch * BATCH + number)
            if number < BATCH:
                await client.publish(f"{name}.main", payload, headers=headers)
        headers["Nats-Batch-Commit"] = "1"
        reply = await client.request(f"{name}.main", payload, timeout=10, headers=headers)
        assert msgspec.json.decode(reply.data)["seq"] == (batch + 1) * BATCH


async def _fill(client: Client) -> None:
    await ensure_stream(client, "fleet")
    log = JetStreamLog(client, Partition("fleet"))
    for seq in range(COMMITS):
        await log.append(Commit(f"commit-{seq}", 1, _payload(seq)), seq)


def _payload(seq: int) -> bytes:
    ordinals = range(seq * EVENTS_EACH + 1, (seq + 1) * EVENTS_EACH + 1)
    return b"".join(EVENT % (n, n % 101) + ENVELOPE % (n, seq) for n in ordinals)


async def _read(log: JetStreamLog) -> None:
    seq = 0
    async with log.read(0) as reader:
        while seq < COMMITS:
            seq = (await reader.next())[-1].seq


async def _timed(work) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began
