"""A log in memory with fleet events in it, for what the commands do between the server and the screen."""

import os
import sys
from datetime import UTC, datetime, timedelta

import pytest
from uuid_utils import uuid4

from drover.cli.group import run
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import DeviceCameOnline, DeviceRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog

BEGAN = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
CODEC = Codec(FLEET.events)


def registered(n, device="d1", cause="c1", by="service_role", at=None):
    return DeviceRegistered(
        device_id=device,
        serial_number="SERIAL001",
        group_id="P1-G1",
        pc_id="pc-1",
        capabilities=["age_verified"],
        n=n,
        at=at or BEGAN + timedelta(seconds=n),
        by=by,
        cause=cause,
    )


def online(n, device="d1", cause="c2", by="presence", at=None):
    return DeviceCameOnline(device_id=device, n=n, at=at or BEGAN + timedelta(seconds=n), by=by, cause=cause)


class CountingLog(MemoryLog):
    """Knows how many commits were handed out by how many reads."""

    def __init__(self):
        super().__init__(Partition("fleet"))
        self.reads = 0
        self.handed_out = 0

    async def wait_beyond(self, seq):
        batch = await super().wait_beyond(seq)
        self.reads += 1
        self.handed_out += len(batch)
        return batch


@pytest.fixture
def log():
    return CountingLog()


async def write(log, *commits):
    """Append each list of events as a commit; the last sequence."""
    newest = await log.last()
    seq = newest.seq if newest else 0
    for events in commits:
        seq = await log.append(Commit(str(uuid4()), 1, CODEC.encode(events)), seq)
    return seq


@pytest.fixture
def drover(monkeypatch, capsys, tmp_path):
    """The command in an empty folder; what it said."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("DROVER_")]:
        monkeypatch.delenv(name)

    def call(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["drover", *arguments])
        code = run()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return call
