"""A user whose tests a cleanup has given back gets one notice, however often the log is read again."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from drover.bus.messages import Rejected
from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import events as e
from drover.domain.backoff import Backoff
from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.domain.reminder.notices import TOLD_WITHIN
from drover.domain.reminder.texts import unpack
from drover.domain.reminder.validation import validate
from drover.eventlog.codec import Codec
from drover.eventlog.log import Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.projection.newest import Newest
from drover.reminder import refund_notices
from drover.reminder.refund_notices import RefundNotices
from drover.testing.waiting import eventually
from drover.web.alarm_texts import AlarmTexts
from drover.web.commands import PartitionedClient
from drover.web.freshness import Freshness
from tests.subject_keys import local_keys
from tests.unit.reminder.world import NOW, PARTITIONS, LocalBus

ANN, BEN = "user_ann", "user_ben"
RUN = "11111111-0000-7000-8000-000000000001"


class Reached:
    async def wait(self, context, seq, timeout_s):
        return True


class Analyses:
    """The log of analyses, and those who follow it."""

    def __init__(self) -> None:
        self.log = MemoryLog(Partition("analysis"))
        self.bus = LocalBus()
        self.seq = 0

    async def record(self, *events) -> None:
        for event in events:
            event.at = NOW
        await self.append(Codec.of(ANALYSIS).encode(events))

    async def append(self, payload: bytes) -> None:
        self.seq = await self.log.append(Commit(str(self.seq), 1, payload), self.seq)

    async def cleaned(self, **tests: int) -> None:
        """A cleanup that gave so many back to each."""
        asked = [e.UserNotificationRequested(f"n-{user}", user, RUN, number) for user, number in tests.items()]
        await self.record(*asked, e.CleanupRunFinished(RUN, sum(tests.values()), 0, len(tests), 5))

    @asynccontextmanager
    async def followed(self, clock=lambda: datetime.now(UTC)):
        freshness = Freshness(Reached(), Newest([Partition("reminder", name) for name in PARTITIONS]))
        clients = PartitionedClient(self.bus, "reminder", PARTITIONS, freshness=freshness, validate=validate)
        self.texts = AlarmTexts(local_keys("reminder", partitions=PARTITIONS))
        notices = RefundNotices(
            self.log, clients, texts=self.texts, title="환불", body="{tests}건, {tests}회", clock=clock
        )
        async with notices.running():
            yield notices

    async def read_to_the_end(self, notices) -> None:
        await eventually(lambda: notices._follower.seq == self.seq)

    async def waiting(self) -> dict[str, str]:
        """User to the body of the notice that waits."""
        alarms = [alarm for state in self.bus.states.values() for alarm in state.alarms.values()]
        bodies = {alarm.user.user_id: unpack(alarm.text)[1] for alarm in alarms}
        open_ = await self.texts.opener(bodies.values())
        return {user: open_("body", body) for user, body in bodies.items()}


@pytest.mark.req("SY-16")
async def test_each_user_of_a_cleanup_is_told_once_how_many_were_given_back():
    analyses = Analyses()
    async with analyses.followed() as notices:
        await analyses.cleaned(user_ann=3, user_ben=1)
        await analyses.read_to_the_end(notices)
    assert await analyses.waiting() == {ANN: "3건, 3회", BEN: "1건, 1회"}
    alarm = analyses.bus.state_of(ANN).alarms["cleanup:n-user_ann"]
    title = unpack(alarm.text)[0]
    assert (await analyses.texts.opener([title]))("title", title) == "환불"


@pytest.mark.req("SY-16")
async def test_a_restart_reads_the_requests_again_and_sends_nothing_again():
    analyses = Analyses()
    await analyses.cleaned(user_ann=3)  # while nobody follows the log
    async with analyses.followed() as notices:
        await analyses.read_to_the_end(notices)
    state = analyses.bus.state_of(ANN)
    partition = analyses.bus.sent[0][0]
    for command in (c.ClaimDue(10, "x"), c.ReportSent("cleanup:n-user_ann", 1, 1, 1)):
        await analyses.bus.send("reminder", command, by="sender", partition=partition)
    assert not state.alarms, "sent"
    async with analyses.followed() as notices, analyses.followed() as other:
        await analyses.read_to_the_end(notices)
        await analyses.read_to_the_end(other)
    assert not state.alarms
    assert [type(command) for _, command in analyses.bus.sent].count(c.Notify) == 3


@pytest.mark.req("SY-16")
async def test_requests_of_long_ago_are_not_read():
    analyses = Analyses()
    await analyses.cleaned(user_ann=3)
    later = datetime.now(UTC) + TOLD_WITHIN + timedelta(minutes=1)
    async with analyses.followed(clock=lambda: later) as notices:
        await analyses.read_to_the_end(notices)
    assert analyses.bus.sent == []


@pytest.mark.req("SY-16")
async def test_while_the_writer_is_away_the_notice_waits_for_it(monkeypatch):
    monkeypatch.setattr(refund_notices, "RETRY", Backoff(first_s=0.001, max_s=0.001))
    analyses = Analyses()
    analyses.bus.refuse_with = [Rejected(Code.UNAVAILABLE, "away"), Rejected(Code.NOT_LEADER, "gone")]
    await analyses.cleaned(user_ann=1)
    async with analyses.followed() as notices:
        await analyses.read_to_the_end(notices)
    assert await analyses.waiting() == {ANN: "1건, 1회"}


async def test_a_line_that_cannot_be_read_or_is_refused_holds_up_nothing():
    analyses = Analyses()
    analyses.bus.refuse_with = [Rejected(Code.VALIDATION_ERROR, "no")]
    await analyses.append(b'{"type":"UserNotificationRequested","user_id":7}\n')
    await analyses.cleaned(user_ann=1)
    await analyses.cleaned(user_ben=1)
    async with analyses.followed() as notices:
        await asyncio.wait_for(analyses.read_to_the_end(notices), 5)
    assert await analyses.waiting() == {BEN: "1건, 1회"}
