"""The audit of `make chaos` must be able to fail: every fault that it is there for, planted in a log of its own."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from drover.bus.connection import connected
from drover.domain.contexts import CONTEXTS
from drover.domain.fleet import FLEET
from drover.domain.fleet.events import DeviceRegistered
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.writer.nats_writer import prepare
from tests.chaos.audit import audit

CODEC = Codec.of(FLEET)

FINE = (("c1", 1, 1, "A"), ("c2", 1, 2, "B"))
"""Commits: their id, term, ordinal, and the serial number of the phone that each registers."""


def said(*acknowledged):
    sent = [SimpleNamespace(id=serial, serial=serial, ended=True) for serial in acknowledged]
    return SimpleNamespace(sent=sent, acknowledged=lambda: sent, refused=list)


@pytest.mark.req("EV-02")
@pytest.mark.parametrize(
    ("commits", "acknowledged", "complaint"),
    [
        (FINE, "AB", None),
        (FINE, "ABC", "acknowledged, but not in the log"),
        ((*FINE, ("c3", 1, 3, "A")), "AB", "in the log more than once"),
        ((*FINE, ("c2", 1, 3, "C")), "AB", "commit c2 twice"),
        ((*FINE, ("c3", 1, 4, "C")), "AB", "event 4 where 3 was due"),
        ((*FINE, ("c3", 2, 3, "C"), ("c4", 1, 4, "D")), "AB", "of term 1 after 2"),
    ],
    ids=["nothing", "lost", "doubled", "commit twice", "hole", "old term"],
)
async def test_it_finds_what_is_wrong_and_nothing_else(own_nats, commits, acknowledged, complaint):
    async with connected(own_nats.url, "test") as client:
        await prepare(client, CONTEXTS)
        log, seq = JetStreamLog(client, Partition("fleet")), 0
        for commit_id, epoch, n, serial in commits:
            event = DeviceRegistered(f"d-{serial}-{n}", serial, "P1-G1", "PC-01", [])
            event.n, event.at, event.by, event.cause = n, datetime.now(UTC), "service_role", commit_id
            seq = await log.append(Commit(commit_id, epoch, CODEC.encode([event])), seq)
        wrong = (await audit(client, said(*acknowledged))).wrong
    assert [complaint in found for found in wrong] == ([True] if complaint else [])
