"""Afterwards: every log read from its first event, and compared with what was acknowledged."""

from __future__ import annotations

import asyncio
from collections import Counter

import msgspec
from nats.aio.client import Client

from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.streams import partitions_of
from drover.projector.app import PROJECTIONS
from tests.chaos.load import Load

SHOWN = 5
READ_S = 60.0
"""How long a log may deliver nothing although there is more."""


class Audit(msgspec.Struct):
    events: int = 0
    commits: int = 0
    terms: int = 0
    """Of the fleet."""
    wrong: list[str] = []

    def complain(self, what: str, found: list[str]) -> None:
        if found:
            self.wrong.append(f"{what}: {len(found)}, for example {found[:SHOWN]}")


async def audit(client: Client, load: Load, *, filled: int = 0) -> Audit:
    """`filled`: the last commit of the fleet that was there before the phones of the load."""
    result = Audit()
    made: Counter[str] = Counter()
    offline: list[str] = []
    for projection in PROJECTIONS:
        codec = Codec(projection.events, projection.upcasters)
        for partition in await partitions_of(client, projection.context):
            log = JetStreamLog(client, partition)
            last = await log.last()
            n, epoch, seq, seen = 0, 0, 0, set()
            async with log.read(0) as reader:
                while last is not None and seq < last.seq:
                    try:
                        commits = await asyncio.wait_for(reader.next(), READ_S)
                    except TimeoutError:
                        result.wrong.append(f"{partition.subject}: nothing after {seq} can be read, of {last.seq}")
                        break
                    for commit in commits:
                        seq = commit.seq
                        result.commits += 1
                        if commit.id in seen:
                            result.wrong.append(f"{partition.subject}: commit {commit.id} twice, at {seq}")
                        seen.add(commit.id)
                        if commit.epoch < epoch:
                            result.wrong.append(f"{partition.subject}: {seq} is of term {commit.epoch} after {epoch}")
                        epoch = max(epoch, commit.epoch)
                        for event in codec.decode(commit.payload):
                            n += 1
                            if event.n != n:
                                result.wrong.append(f"{partition.subject}: event {event.n} where {n} was due, at {seq}")
                                n = event.n
                            name = type(event).__name__
                            if name == "DeviceRegistered":
                                made[event.serial_number] += 1
                            elif name == "DeviceWentOffline" and seq > filled:
                                offline.append(event.device_id)
                            elif name == "TermStarted" and partition.context == "fleet":
                                result.terms += 1
            result.events += n
    result.complain("acknowledged, but not in the log", [s.id for s in load.acknowledged() if not made[s.serial]])
    result.complain("in the log more than once", [serial for serial, count in made.items() if count > 1])
    result.complain("refused", load.refused())
    result.complain("never answered", [s.id for s in load.sent if not s.ended])
    result.complain("phones that were well went offline", offline)
    return result
