"""A log that was written with a clock a day ahead, on a real server, and a writer whose clock is right."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from msgspec.structs import replace

from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.domain.event import TermStarted
from drover.domain.reminder import REMINDER
from drover.domain.reminder import commands as c
from drover.domain.reminder import events as e
from drover.eventlog.codec import Codec
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, Partition
from drover.writer.acceptance import ask
from drover.writer.nats_writer import nats_writer, prepare

DAY = timedelta(days=1)
PAGE, USER = "page-1", "user_1"


@pytest.mark.req("YR-13")
async def test_a_writer_goes_on_in_the_partitions_time_and_claims_no_alarm_early(nats_url):
    decider = replace(REMINDER, context=f"t{uuid4().hex[:12]}")
    partition = Partition(decider.context)
    async with connected(nats_url, "test") as client:
        await prepare(client, (decider.context,))
        tomorrow = datetime.now(UTC) + DAY
        events = [
            TermStarted(1, "ahead", n=1, at=tomorrow, by="writer:ahead", cause="a"),
            e.UserAdded(USER, "UTC", n=2, at=tomorrow, by="t", cause="b"),
        ]
        await JetStreamLog(client, partition).append(Commit(str(uuid4()), 1, Codec.of(decider).encode(events)), 0)
        async with nats_writer(client, decider, instance="right").running() as writer:
            await writer.leading.wait()
            said = await ask(client, partition)
            assert DAY - timedelta(minutes=1) < timedelta(seconds=said.ahead_s) <= DAY
            for command in (
                c.RegisterByPage(PAGE, USER, "title", "body"),
                c.Schedule(PAGE, USER, datetime.now(UTC) + timedelta(hours=1)),
            ):
                assert isinstance(await writer.submit(command, by="t"), Accepted)
            claimed = await writer.submit(c.ClaimDue(10, "s"), by="t")
            assert claimed.result is None, "it is due in an hour, not a day ago"
        last = await JetStreamLog(client, partition).last()
        (event, *_) = Codec.of(decider).decode(last.payload)
        assert event.at > tomorrow
