"""A small decider that can do everything a runtime must cope with, and a writer of it on a log in memory."""

import asyncio
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import msgspec
import pytest

from drover.domain.decider import Command, Decider, Decision, Rejection, Tick, accept, answer, reject
from drover.domain.event import Event, TermStarted
from drover.eventlog.codec import Codec
from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer


class Added(Event):
    amount: int


class AlarmSet(Event):
    due: datetime


class AlarmRang(Event):
    due: datetime


class RefusalNoted(Event):
    reason: str


class Add(Command):
    amount: int


class SetAlarm(Command):
    seconds: float


class Refuse(Command):
    reason: str


class Ask(Command):
    pass


class RaiseInDecide(Command):
    pass


class RaiseInEvolve(Command):
    pass


class Flood(Command):
    events: int
    note: str = ""


class Chain(Command):
    """Add `amount`, then as much as there is, `steps` times."""

    amount: int
    steps: int
    raises: bool = False


class Poisoned(Event):
    pass


class Noted(Event):
    note: str


class Unencodable(Event):
    what: object


class DecideTheUnencodable(Command):
    pass


class Tally(msgspec.Struct):
    total: int = 0
    alarms: list[datetime] = []
    stuck: bool = False
    """A deadline that Tick never resolves."""


def decide(state: Tally, command: Command, now: datetime) -> Decision:
    match command:
        case Add(amount):
            return accept(Added(amount))
        case SetAlarm(seconds):
            return accept(AlarmSet(now + timedelta(seconds=seconds)))
        case Refuse(reason):
            return Decision(events=(RefusalNoted(reason),), rejection=Rejection("NO", reason))
        case Ask():
            return answer(state.total)
        case RaiseInDecide():
            raise RuntimeError("decide")
        case DecideTheUnencodable():
            return accept(Unencodable(object()))
        case RaiseInEvolve():
            return accept(Added(1), Poisoned())
        case Chain(amount, steps, raises):
            return accept(Added(amount), then=double(steps, raises))
        case Flood(count, note):
            return accept(*(Noted(note) for _ in range(count)))
        case Tick():
            if state.stuck:
                return Decision()
            due = [alarm for alarm in state.alarms if alarm <= now][:1]
            return accept(*(AlarmRang(alarm) for alarm in due))
    return reject("UNKNOWN", "?")


def double(steps: int, raises: bool):
    """A follow-up that sees what the step before it has led to."""

    def step(state: Tally, now: datetime) -> Decision:
        if steps == 0:
            if raises:
                raise RuntimeError("then")
            return Decision()
        return accept(Added(state.total), then=double(steps - 1, raises))

    return step


def evolve(state: Tally, event: Event) -> Tally:
    match event:
        case Added():
            state.total += event.amount
        case AlarmSet():
            state.alarms.append(event.due)
        case AlarmRang():
            state.alarms.remove(event.due)
        case Poisoned():
            state.total += 1_000_000
            raise RuntimeError("evolve")
    return state


def tell(events):
    if isinstance(events[0], RefusalNoted):
        return Rejection("NO", events[0].reason)
    return {"n": events[0].n}


TALLY = Decider(
    context="tally",
    initial=Tally,
    decide=decide,
    evolve=evolve,
    next_deadline=lambda state: min(state.alarms, default=None),
    answer=tell,
    commands=(
        Add | SetAlarm | Refuse | Ask | RaiseInDecide | RaiseInEvolve | DecideTheUnencodable | Flood | Chain | Tick
    ),
    events=TermStarted | Added | AlarmSet | AlarmRang | RefusalNoted | Poisoned | Noted,
    state=Tally,
)


class HeldLog(MemoryLog):
    """A disk that can be stalled."""

    def __init__(self, partition):
        super().__init__(partition)
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.fail_with = None

    async def append(self, commit, expected):
        await self.flowing.wait()
        if self.fail_with is not None:
            raise self.fail_with
        return await super().append(commit, expected)

    def events(self):
        codec = Codec(TALLY.events)
        return [event for commit in self._commits for event in codec.decode(commit.payload)]


class SlowLog(HeldLog):
    """A log whose commits are read only while `reading` is set."""

    def __init__(self, partition):
        super().__init__(partition)
        self.reading = asyncio.Event()

    async def wait_beyond(self, seq):
        await self.reading.wait()
        return await super().wait_beyond(seq)


class Bench:
    def __init__(self):
        self.clock = VirtualClock()
        self.log = HeldLog(Partition("tally"))
        self.lock = asyncio.Lock()
        self.lease = LocalLease(self.lock)
        self.snapshots = MemorySnapshots()

    def writer(self, *, intake=None, snapshot_every=10**9, lease=None, decider=TALLY, **more):
        snapshotter = Snapshotter(decider, self.log.partition, self.snapshots, every_events=snapshot_every)
        return Writer(
            decider,
            self.log,
            lease or self.lease,
            snapshotter,
            instance="test",
            clock=self.clock,
            intake=intake,
            **more,
        )

    @asynccontextmanager
    async def leading(self, **options):
        async with self.writer(**options).running() as writer:
            await asyncio.wait_for(writer.leading.wait(), 5)
            yield writer


@pytest.fixture
async def bench():
    return Bench()
