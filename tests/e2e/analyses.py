"""Many users with stalled tests, on services in processes of their own; and what the log and the tables say of them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import aiohttp
import msgspec

from drover.bus.connection import connected
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.testing.waiting import eventually
from drover.writer.nats_lease import read_holder
from tests.e2e.apart import Farm
from tests.e2e.client import Http
from tests.e2e.process import DroverProcess
from tests.simulation.analysis_ledger import Books

CRON_SECRET: Final = "a-cron-secret-of-the-tests"
USERS: Final = 300
TESTS: Final = 1000
HAD: Final = 10
AT_ONCE: Final = 50
STALLED_AFTER_S: Final = 1
PARTITION: Final = Partition("analysis")
CALL_S: Final = 60.0


def settings(farm: Farm) -> None:
    """A test is stalled after a second, and nobody cleans up unless asked to."""
    farm.environ |= {
        "DROVER_CRON_SECRETS": CRON_SECRET,
        "DROVER_CLEANUP_TIMEOUT_S": str(STALLED_AFTER_S),
        "DROVER_CLEANUP_CRON": "0 0 1 1 *",
    }


class Office:
    """The back office, and a look at the log."""

    def __init__(self, http: Http, client: Any) -> None:
        self._http = http
        self.client = client
        self._log = JetStreamLog(client, PARTITION)
        self._room = asyncio.Semaphore(AT_ONCE)

    async def _post(self, path: str, body: dict[str, Any]) -> None:
        async with self._room:
            answer = await self._http.call("POST", path, json=body)
            assert answer.status == 201, answer

    async def register(self, users: int = USERS) -> None:
        await asyncio.gather(
            *(self._post("/api/saju/users", {"user_id": user(n), "remaining_tests": HAD}) for n in range(users))
        )

    async def start(self, tests: int = TESTS, users: int = USERS) -> None:
        """So many tests, spread over the users; all of them are stalled when this is over."""
        await asyncio.gather(*(self._post("/api/saju/tests", {"user_id": user(n % users)}) for n in range(tests)))
        stalled_at = datetime.now(UTC) + timedelta(seconds=STALLED_AFTER_S, milliseconds=100)
        await eventually(lambda: datetime.now(UTC) > stalled_at)

    async def leads(self, name: str) -> bool:
        holder = await read_holder(self.client, PARTITION)
        return holder is not None and holder.instance == name

    async def commits(self) -> list[list[Any]]:
        """The whole log, commit by commit."""
        last, codec = await self._log.last(), Codec.of(ANALYSIS)
        assert last is not None
        found: list[list[Any]] = []
        seq = 0
        async with self._log.read(seq) as reader:
            while seq < last.seq:
                for commit in await reader.next():
                    seq = commit.seq
                    found.append(codec.decode(commit.payload))
        return found

    async def audit(self) -> Books:
        """The books, from the log alone. They complain of whatever does not add up."""
        books = Books()
        for commit in await self.commits():
            by_cause: dict[str, list[Any]] = {}
            for event in commit:
                by_cause.setdefault(event.cause, []).append(event)
            for events in by_cause.values():
                books.see(*events)
        return books


def user(number: int) -> str:
    return f"user_{number:04d}"


@asynccontextmanager
async def office(farm: Farm, process: DroverProcess, nats_url: str) -> AsyncIterator[Office]:
    async with farm.calling(process) as http, connected(nats_url, "test") as client:
        yield Office(http, client)


async def clean(session: aiohttp.ClientSession, *urls: str) -> dict[str, Any]:
    """A cron job's call: where one instance is gone, it asks the next."""
    deadline = asyncio.get_running_loop().time() + CALL_S
    for place in range(1000):
        url = urls[place % len(urls)]
        try:
            async with session.post(
                f"{url}/api/system/cleanup-tests", headers={"X-Cron-Secret": CRON_SECRET}
            ) as answer:
                if answer.status == 200:
                    return await answer.json()
                assert answer.status == 500, await answer.text()
        except aiohttp.ClientError:
            pass
        assert asyncio.get_running_loop().time() < deadline, "nobody cleans up"
        await asyncio.sleep(0.1)
    raise AssertionError("nobody cleans up")


@asynccontextmanager
async def killing_in_the_middle(client: Any, leader: DroverProcess) -> AsyncIterator[asyncio.Event]:
    """`kill -9` of the leader as soon as the first commit of a cleanup is on disk. Set when that was done."""
    killed = asyncio.Event()
    line = msgspec.json.Decoder(dict[str, Any])

    async def on_commit(message: Any) -> None:
        types = {line.decode(raw)["type"] for raw in message.data.splitlines()}
        if "CleanupRunStarted" in types and "CleanupRunFinished" not in types and not killed.is_set():
            os.kill(leader.pid, signal.SIGKILL)
            killed.set()

    subscription = await client.subscribe(PARTITION.subject, cb=on_commit)
    await client.flush()
    try:
        yield killed
    finally:
        await subscription.unsubscribe()


def was_interrupted(commits: list[list[Any]]) -> bool:
    """Whether a term began while a cleanup was at work: that is what the killed leader left behind."""
    at_work = False
    for event in (event for commit in commits for event in commit):
        if isinstance(event, e.CleanupRunStarted):
            at_work = True
        elif isinstance(event, e.CleanupRunFinished):
            at_work = False
        elif type(event).__name__ == "TermStarted" and at_work:
            return True
    return False
