"""A notifier without servers, on time that a test does not wait for."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

from uuid_utils import uuid4

from drover.domain.alerts import AlertRaised, AlertResolved
from drover.domain.fleet import FLEET
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.notifier.delivery_queue import DeliveryQueue, Times
from drover.notifier.ledger import LedgerTrouble, Position, Taken
from drover.notifier.notice import Delivered
from drover.notifier.reactor import Reactor
from drover.testing.lease import LocalLease

TIMEOUT_S = 10.0
DAY = timedelta(days=1)
QUIET_S = 3600.0
"""Long after anything that was going to happen."""


class MemoryLedger:
    """Keeps every promise of a ledger but durability. `away`: it does not answer."""

    def __init__(self):
        self.positions = {}
        self.commits = {}
        """The ids of the commits at these positions."""
        self.records = {}
        self.away = False
        self.writes = []

    def _ask(self):
        if self.away:
            raise LedgerTrouble("away")

    async def position(self, context):
        self._ask()
        if context not in self.positions:
            return None
        return Position(self.positions[context], self.commits.get(context, ""))

    async def set_position(self, context, position):
        self._ask()
        self.positions[context], self.commits[context] = position.seq, position.commit

    async def get(self, receiver, key):
        self._ask()
        return self.records.get((receiver, key), (None, 0))

    async def put(self, receiver, key, record, revision):
        self._ask()
        if self.records.get((receiver, key), (None, 0))[1] != revision:
            raise Taken(key)
        self.writes.append((key, record.state))
        self.records[receiver, key] = record, revision + 1
        return revision + 1

    def state(self, key, receiver="slack"):
        return self.records[receiver, key][0].state


class Mortal:
    """The ledger as one process sees it. After `die` that process gets nothing written or read any more."""

    def __init__(self, ledger):
        self._ledger = ledger
        self._dead = False

    def die(self):
        self._dead = True

    def __getattr__(self, name):
        async def ask(*args):
            if self._dead:
                raise LedgerTrouble("dead")
            return await getattr(self._ledger, name)(*args)

        return ask


class Scripted:
    """A receiver that answers as it is told to, one answer a notice; then it takes everything."""

    def __init__(self, *script, name="slack", pace_s=0.0, folds=False):
        self.name = name
        self.folds = folds
        self.pace_s = pace_s
        self.script = list(script)
        self.calls = []
        """(key, repeat, second)"""
        self.notices = []

    @asynccontextmanager
    async def running(self):
        yield

    async def send(self, notice, *, repeat):
        self.calls.append((notice.key, repeat, asyncio.get_running_loop().time()))
        self.notices.append(notice)
        answer = self.script.pop(0) if self.script else Delivered()
        return await answer() if callable(answer) else answer

    @property
    def messages(self):
        """The ids of the alerts in each message."""
        return [[one.alert_id for one in notice.folded or (notice,)] for notice in self.notices]

    @property
    def told(self):
        """(key, repeat) of each notice, whether it was folded or not."""
        return [
            (one.key, repeat)
            for notice, (_, repeat, _) in zip(self.notices, self.calls, strict=True)
            for one in notice.folded or (notice,)
        ]

    @property
    def keys(self):
        return [key for key, _, _ in self.calls]

    @property
    def seconds(self):
        return [second for _, _, second in self.calls]


class World:
    """One log of the fleet, one ledger, and any number of processes."""

    def __init__(self, *receivers, ledger=None, log=None, max_age=DAY):
        self.receivers = receivers or (Scripted(),)
        self.ledger = ledger or MemoryLedger()
        self.log = log or MemoryLog(Partition("fleet"))
        self.max_age = max_age
        self.lock = asyncio.Lock()
        self.ledgers = {}
        self.n = 0

    @property
    def now(self):
        return asyncio.get_running_loop().now()

    def process(self, *, lease=None, **options):
        token, ledger = str(uuid4()), Mortal(self.ledger)
        times = Times(TIMEOUT_S, self.max_age)

        def queues():
            return [
                DeliveryQueue(one, ledger, times, token=token, now=lambda: self.now, roll=lambda: 0.5)
                for one in self.receivers
            ]

        reactor = Reactor({"fleet": self.log}, ledger, lease or LocalLease(self.lock), queues, **options)
        self.ledgers[reactor] = ledger
        return reactor

    def kill(self, process):
        """As kill -9: it writes nothing down any more, and its lease lapses."""
        self.ledgers[process].die()
        self.lock = asyncio.Lock()

    async def record(self, *events, at=None):
        for event in events:
            self.n += 1
            event.n, event.at = self.n, at or self.now
        seq = await self.log.context_end()
        await self.log.append(Commit(str(uuid4()), 1, Codec.of(FLEET).encode(events)), seq)

    async def raised(self, *ids, kind="poison_job", at=None):
        await self.record(*(AlertRaised(id_, kind, "job-1", f"Text of {id_}", {"devices": 3}) for id_ in ids), at=at)

    async def resolved(self, *ids, kind="poison_job", reason="resumed"):
        await self.record(*(AlertResolved(id_, kind, "job-1", reason) for id_ in ids))

    @asynccontextmanager
    async def running(self, **options):
        process = self.process(**options)
        async with process.running():
            await asyncio.sleep(0.01)
            yield process


def key(id_, phase="raised"):
    return f"fleet.{id_}.{phase}"


async def quiet(seconds=QUIET_S):
    await asyncio.sleep(seconds)
