"""A long history of the fleet, written straight into its log: phones, jobs one after the other, an attempt each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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
"""From one event to the next."""
WATCHED = timedelta(minutes=5)
BY = "service_role"


def _id(kind: int, number: int) -> str:
    return str(UUID(int=(kind << 96) + number))


def _population() -> Iterator[Event]:
    for number in range(DEVICES):
        pc = f"PC-{number // DEVICES_PER_PC:04}"
        if number % DEVICES_PER_PC == 0:
            yield e.PcRegistered(pc, DEVICES_PER_PC)
        yield e.DeviceRegistered(_id(1, number), f"FILLED{number:06}", f"P{number // 1_000}-G1", pc, ["youtube"])


def _life(at: datetime, job: str, number: int, nth: int) -> Iterator[Event]:
    """One phone watches: from the offer to the end."""
    device = nth % DEVICES
    whose = (_id(3, nth), job, _id(1, device), 1, 1)
    yield e.AttemptCreated(*whose, f"PC-{device // DEVICES_PER_PC:04}")
    yield e.AttemptSent(*whose, at + WATCHED)
    yield e.AttemptStarted(*whose, 0, None, at + WATCHED)
    for step in STEPS:
        yield e.AttemptProgressed(*whose, step, False)
    yield e.AttemptSucceeded(*whose, at, at, 60, number % 2 == 0, False, False, None)


def _jobs(start: datetime) -> Iterator[Event]:
    """Without end. Devices come online for a job and go afterwards, so that nobody is missed in the end."""
    nth, at = 0, start
    number = 0
    while True:
        number += 1
        job = _id(2, number)
        yield e.JobCreated(
            job, f"Filled {number}", "https://youtu.be/filled", "watch", 30, 90, 50, 30, 10, True, 10, None
        )
        yield e.JobActivated(job)
        first = nth
        for nth in range(first, first + PER_JOB):
            yield e.DeviceCameOnline(_id(1, nth % DEVICES))
            yield from _life(at, job, number, nth)
            yield e.DeviceWentOffline(_id(1, nth % DEVICES), None)
        nth += 1
        yield e.JobCompleted(job, PER_JOB, 0, 0)
        yield e.JobArchived(job)


def history(events: int) -> Iterator[list[Event]]:
    """Commit after commit; the last ends where a job does, so that there may be some more than asked for."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1) - events * APART
    commit: list[Event] = []
    n = 0
    for source in (_population(), _jobs(at)):
        for event in source:
            n += 1
            at += APART
            event.n, event.at, event.by, event.cause = n, at, BY, f"filled-{n // 5}"
            commit.append(event)
            if len(commit) == COMMIT_EVENTS:
                yield commit
                commit = []
            if n >= events and isinstance(event, e.JobArchived):
                break
    yield commit


async def fill_log(log: EventLog, events: int) -> tuple[int, int]:
    """Position and number of the last event."""
    codec, seq, n = Codec.of(FLEET), 0, 0
    for commit in history(events):
        if commit:
            seq = await log.append(Commit(str(uuid4()), 1, codec.encode(commit)), seq)
            n = commit[-1].n
    return seq, n
