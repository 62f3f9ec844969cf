"""A long history of the fleet, written straight into its log: phones, jobs one after the other, an attempt each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import cycle
from random import Random
from uuid import UUID, uuid4

from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.fleet import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, EventLog

COMMIT_EVENTS = 500
DEVICES = 10_000
DEVICES_PER_PC = 20
PER_JOB = 1_000
"""Phones that a job runs on."""
STEPS = (20, 40, 60, 80)
APART = timedelta(milliseconds=100)
"""From one event to the next, on average."""
WATCHED = timedelta(minutes=5)
BY = "service_role"


def _id(kind: int, number: int) -> str:
    """The same each time, and as hard to compress as the ids of a real farm."""
    return str(UUID(bytes=blake2b(b"%d %d" % (kind, number), digest_size=16).digest()))


@cache
def device_id(number: int) -> str:
    return _id(1, number)


def _command(at: datetime, number: int) -> str:
    """The id of a command: a UUID of version 7, which begins with the time."""
    rest = blake2b(b"%d" % number, digest_size=10).hexdigest()
    moment = f"{int(at.timestamp() * 1000):012x}"
    return f"{moment[:8]}-{moment[8:]}-{rest[:4]}-{rest[4:8]}-{rest[8:]}"


def _population() -> Iterator[Event]:
    for number in range(DEVICES):
        pc = f"PC-{number // DEVICES_PER_PC:04}"
        if number % DEVICES_PER_PC == 0:
            yield e.PcRegistered(pc, DEVICES_PER_PC)
        yield e.DeviceRegistered(device_id(number), f"FILLED{number:06}", f"P{number // 1_000}-G1", pc, ["youtube"])


def _life(at: datetime, job: str, number: int, nth: int) -> Iterator[Event]:
    """One phone watches: it comes online, gets an offer, plays it to the end and goes."""
    device = nth % DEVICES
    yield e.DeviceCameOnline(device_id(device))
    whose = (_id(3, nth), job, device_id(device), 1, 1)
    yield e.AttemptCreated(*whose, f"PC-{device // DEVICES_PER_PC:04}")
    yield e.AttemptSent(*whose, at + WATCHED)
    yield e.AttemptStarted(*whose, 0, None, at + WATCHED)
    for step in STEPS:
        yield e.AttemptProgressed(*whose, step, False)
    yield e.AttemptSucceeded(*whose, at, at, 60, number % 2 == 0, False, False, None)
    yield e.DeviceWentOffline(device_id(device), None)


def _in_turn(lives: list[Iterator[Event]]) -> Iterator[Event]:
    for life in lives:
        yield from life


def _at_once(lives: list[Iterator[Event]]) -> Iterator[Event]:
    """All phones at the same time, each event of theirs in another order."""
    order = Random(0)  # the same history each time
    while lives:
        order.shuffle(lives)
        events = [next(life, None) for life in lives]
        yield from (event for event in events if event is not None)
        lives = [life for life, event in zip(lives, events, strict=True) if event is not None]


def _jobs(start: datetime, *, at_once: bool) -> Iterator[Event]:
    """Without end. Devices come online for a job and go afterwards, so that nobody is missed in the end."""
    at, number = start, 0
    while True:
        number += 1
        job = _id(2, number)
        yield e.JobCreated(
            job, f"Filled {number}", "https://youtu.be/filled", "watch", 30, 90, 50, 30, 10, True, 10, None
        )
        yield e.JobActivated(job)
        lives = [_life(at, job, number, (number - 1) * PER_JOB + nth) for nth in range(PER_JOB)]
        yield from _at_once(lives) if at_once else _in_turn(lives)
        yield e.JobCompleted(job, PER_JOB, 0, 0)
        yield e.JobArchived(job)


def history(
    events: int, commit_events: int = COMMIT_EVENTS, *, command_events: int = 5, at_once: bool = False
) -> Iterator[list[Event]]:
    """Commit after commit; one ends where a job does, also the last, so that there may be some more than asked for.

    `command_events`: how many events have the same cause. `at_once`: whether the phones of a job work at the same time,
    so that events of one phone are far apart, as on a real farm.
    """
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1) - events * APART
    random = Random(0)  # the same history each time
    steps = cycle([timedelta(seconds=random.uniform(0, 2) * APART.total_seconds()) for _ in range(1_000)])
    commit: list[Event] = []
    n, cause = 0, ""
    for source in (_population(), _jobs(at, at_once=at_once)):
        for event in source:
            if n % command_events == 0 or not commit:  # a command's events are all in one commit
                cause = _command(at, n)
            n += 1
            at += next(steps)
            event.n, event.at, event.by, event.cause = n, at, BY, cause
            commit.append(event)
            ended = isinstance(event, e.JobArchived)
            if len(commit) == commit_events or ended:
                yield commit
                commit = []
            if n >= events and ended:
                break
        if commit:
            yield commit
            commit = []


async def fill_log(log: EventLog, events: int) -> tuple[int, int]:
    """Position and number of the last event."""
    codec, seq, n = Codec.of(FLEET), 0, 0
    for commit in history(events):
        seq = await log.append(Commit(str(uuid4()), 1, codec.encode(commit)), seq)
        n = commit[-1].n
    return seq, n
