"""Archiving against plain reading of the same log, and restoring against appending commits one by one."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from nats.aio.client import Client

from drover.archive.archive import Archive
from drover.archive.creating import create
from drover.archive.restoring import restore
from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.refill import Refill
from drover.eventlog.streams import ensure_stream
from drover.service.process import tune_garbage_collection
from tests.bench.report import Figure, at_least

COMMITS = 10_000
EVENTS_EACH = 10
ONE_BY_ONE = 2_000
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
        appending = await _fill(client)
        log = JetStreamLog(client, Partition("fleet"))
        events = COMMITS * EVENTS_EACH
        reading = events / await _timed(_read(log))
        archiving = events / await _timed(create(directory / "archive", [log]))
        archive = Archive(directory / "archive", "fleet")
        began = time.perf_counter()
        assert archive.verify() == []
        verifying = events / (time.perf_counter() - began)
        await ensure_stream(target, "fleet")
        whole = restore(Refill(target, "fleet"), archive.commits, last=COMMITS, events=events)
        restoring = COMMITS / await _timed(whole)
        return [
            at_least("archive: events read, checked and compressed", archiving, reading, 0.1, "events/s"),
            at_least("archive: events verified", verifying, reading, 0.1, "events/s"),
            at_least("restore: commits put back and read back", restoring, appending, 0.4, "commits/s"),
        ]


async def _fill(client: Client) -> float:
    """The log; and how many commits a second one writer appends that waits for each."""
    await ensure_stream(client, "fleet")
    log = JetStreamLog(client, Partition("fleet"))
    began = time.perf_counter()
    for seq in range(COMMITS):
        if seq == ONE_BY_ONE:
            took = time.perf_counter() - began
        lines = [
            EVENT % (n, n % 101) + ENVELOPE % (n, seq)
            for n in range(seq * EVENTS_EACH + 1, (seq + 1) * EVENTS_EACH + 1)
        ]
        await log.append(Commit(f"commit-{seq}", 1, b"".join(lines)), seq)
    return ONE_BY_ONE / took


async def _read(log: JetStreamLog) -> None:
    seq = 0
    async with log.read(0) as reader:
        while seq < COMMITS:
            seq = (await reader.next())[-1].seq


async def _timed(work) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began
