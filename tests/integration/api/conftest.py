"""Logs on a real NATS, each in a context of its test's own, and a writer that numbers its events."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from nats.aio.client import Client
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.eventlog.streams import ensure_stream


class Writer:
    """The only one who writes into its log."""

    def __init__(self, client: Client, context: str) -> None:
        self.context = context
        self.partition = Partition(context)
        self.log = JetStreamLog(client, self.partition)
        self.events = 0
        self.ids: list[str] = []
        """Of every event, in order."""
        self._seq = 0

    async def write(self, events: int = 1, padding: str = "") -> None:
        """One commit."""
        numbers = range(self.events, self.events + events)
        lines = [msgspec.json.encode({"type": "Happened", "n": number, "padding": padding}) for number in numbers]
        self._seq = await self.log.append(Commit(str(uuid4()), 1, b"\n".join(lines) + b"\n"), self._seq)
        self.ids += [f"{self.context}={self._seq}.{line}" for line in range(events)]
        self.events += events


@pytest.fixture
async def client(nats) -> AsyncIterator[Client]:
    async with connected(nats.url, "test") as connection:
        yield connection


@pytest.fixture
async def writer(client: Client) -> Writer:
    context = f"t{uuid4().hex[:12]}"
    await ensure_stream(client, context)
    return Writer(client, context)
