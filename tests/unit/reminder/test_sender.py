"""From a claim to its report."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.reminder import commands as c
from drover.reminder.notification import Delivered, Failed, Uncertain
from drover.reminder.recordable import NOT_RECORDED
from drover.reminder.sender import REPORT_TRIES_MAX, Claim, Job, Sender
from drover.reminder.settings import ReminderSettings
from drover.testing.waiting import eventually
from tests.unit.reminder.test_edge_alarms import errors
from tests.unit.reminder.world import LocalBus, ScriptedProvider, notification

PARTITION = "p0"
CLAIM = Claim("page-1", 1, 1, 1)


async def claimed() -> LocalBus:
    """A page of user_1 that is in hand."""
    bus = LocalBus()
    for command in (
        c.RegisterByPage("page-1", "user_1"),
        c.AddSubscription("user_1", "s1", "webpush", "x"),
        c.ClaimDue(1, "test"),
    ):
        await bus.send("reminder", command, by="test", partition=PARTITION)
    bus.sent.clear()
    return bus


class Desk:
    """A sender at work, and jobs that say when they are over."""

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.ended = 0
        self.wanted = True

    def _end(self) -> None:
        self.ended += 1

    def offer(self, **fields) -> None:
        told = notification(**fields)
        self.sender.offer(Job(CLAIM, told, PARTITION, lambda: self.wanted, self._end))

    async def all_ended(self, jobs: int) -> None:
        await eventually(lambda: self.ended >= jobs)
        assert self.ended == jobs


CONCURRENCY = ReminderSettings().reminder_concurrency
"""As it is where nobody sets it."""


@asynccontextmanager
async def desk(bus, provider, *, concurrency=CONCURRENCY):
    made = Desk(Sender(provider, bus, concurrency=concurrency, instance="i"))
    async with made.sender.running():
        yield made


async def delivered(bus: LocalBus, outcome):
    async with desk(bus, ScriptedProvider(outcome)) as at:
        at.offer()
        await at.all_ended(1)
    return bus.states[PARTITION].alarms.get("page-1")


@pytest.mark.req("RM-07", "RM-08", "RM-11")
@pytest.mark.parametrize(
    ("outcome", "command", "sent_count", "dispatched"),
    [
        (Delivered(notification_id="n-7"), c.ReportSent("page-1", 1, 1, 1, "n-7"), 2, False),
        (
            Failed(permanent=False, code="http_503", error="busy"),
            c.ReportFailed("page-1", 1, 1, 1, False, "http_503", "busy"),
            1,
            False,
        ),
        (Failed(permanent=True, code="http_400"), c.ReportFailed("page-1", 1, 1, 1, True, "http_400"), 1, False),
        (
            Uncertain(code="partial", delivered=("s1",)),
            c.ReportUnknown("page-1", 1, 1, 1, "partial", "", ("s1",)),
            1,
            True,
        ),
    ],
)
async def test_what_the_provider_says_is_reported_as_it_is(outcome, command, sent_count, dispatched):
    bus = await claimed()
    alarm = await delivered(bus, outcome)
    assert bus.sent == [(PARTITION, command)]
    assert (alarm.sent_count, alarm.dispatched) == (sent_count, dispatched)


@pytest.mark.req("RM-07")
async def test_a_provider_that_raises_has_an_unknown_outcome():
    bus = await claimed()
    with capture_logs():
        alarm = await delivered(bus, RuntimeError("oops"))
    assert alarm.dispatched
    assert bus.sent[0][1].code == "provider_raised"


@pytest.mark.req("RM-14")
async def test_a_push_that_failed_is_reported_as_an_error():
    bus = await claimed()
    before = errors("push")
    with capture_logs() as lines:
        await delivered(bus, Failed(permanent=True, code="http_400"))
    assert errors("push") == before + 1
    assert ("error", "http_400") in [(line["log_level"], line.get("code")) for line in lines]


@pytest.mark.req("RM-11")
async def test_a_subscription_that_is_gone_is_retired():
    bus = await claimed()
    await delivered(bus, Delivered(gone=("s1", "unknown")))
    assert bus.states[PARTITION].subscriptions == {}
    assert [type(command) for _, command in bus.sent] == [c.RemoveSubscription, c.RemoveSubscription, c.ReportSent]
    assert bus.sent[0][1].reason == "gone"


@pytest.mark.req("RM-14")
async def test_a_report_is_repeated_with_the_same_id_and_its_loss_is_an_error():
    bus = await claimed()
    bus.refuse_with = [Rejected(Code.UNAVAILABLE, "nobody")] * (REPORT_TRIES_MAX - 1)
    bus.ids.clear()
    assert (await delivered(bus, Delivered())).sent_count == 2
    assert len(bus.ids) == REPORT_TRIES_MAX
    assert len(set(bus.ids)) == 1 and bus.ids[0], "the first may have arrived: it must not count twice"
    bus = await claimed()
    bus.refuse_with = [Rejected(Code.UNAVAILABLE, "nobody")] * REPORT_TRIES_MAX
    before = errors("batch_update")
    with capture_logs():
        assert (await delivered(bus, Delivered())).sent_count == 1
    assert errors("batch_update") == before + 1


async def test_a_stale_report_is_no_error():
    bus = await claimed()
    await bus.send("reminder", c.DeletePages(("page-1",)), by="test", partition=PARTITION)
    before = errors("batch_update")
    await delivered(bus, Delivered())
    assert errors("batch_update") == before


@pytest.mark.req("RM-12", "RM-15")
async def test_no_more_than_ten_are_under_way_at_once_unless_set_otherwise():
    bus = await claimed()
    gate, most, now = asyncio.Event(), 0, 0

    class Slow(ScriptedProvider):
        async def send(self, notification):
            nonlocal most, now
            now += 1
            most = max(most, now)
            await gate.wait()
            now -= 1
            return Delivered()

    async with desk(bus, Slow()) as at:
        for _ in range(40):
            at.offer()
        await eventually(lambda: now == 10)
        assert REGISTRY.get_sample_value("drover_reminder_concurrency_in_use") == 10
        assert REGISTRY.get_sample_value("drover_reminder_concurrency_limit") == 10
        gate.set()
        await at.all_ended(40)
    assert most == 10
    assert REGISTRY.get_sample_value("drover_reminder_concurrency_in_use") == 0


@pytest.mark.req("RM-05")
async def test_what_nobody_wants_any_more_when_its_turn_comes_is_not_sent():
    bus, provider = await claimed(), ScriptedProvider()
    async with desk(bus, provider) as at:
        at.wanted = False
        at.offer()
        await at.all_ended(1)
    assert provider.sent == []
    assert bus.sent == []


@pytest.mark.req("RM-06", "RM-07")
async def test_a_stop_gives_back_what_was_not_begun_and_what_was_stays_in_doubt():
    bus, gate = await claimed(), asyncio.Event()

    class Slow(ScriptedProvider):
        async def send(self, notification):
            self.sent.append(notification)
            await gate.wait()

    async with desk(bus, Slow(), concurrency=1) as at:
        at.offer(key="begun")
        await eventually(lambda: at.sender._provider.sent)
        at.offer(key="not begun")
        await at.sender.withdraw(PARTITION)
        assert at.ended == 1
        assert [command.code for _, command in bus.sent] == ["not_begun"]
        assert not bus.states[PARTITION].alarms["page-1"].dispatched
        assert bus.states[PARTITION].failed_in_row == 0, "that is not the provider's fault"
    assert at.ended == 2
    assert len(bus.sent) == 1, "of what was begun nobody knows anything"


TITLE = "병원 예약"
BODY = 'Dr. "Kim"\n3 pm, room 12, bring the results of the last blood test'


@pytest.mark.req("SE-09")
@pytest.mark.parametrize("kind", [lambda error: Failed(permanent=True, code="http_422", error=error), None])
@pytest.mark.parametrize(
    "answer",
    [
        f'{{"title":"{TITLE}"}}',
        json.dumps({"errors": [{"input": {"title": TITLE}}]}),
        json.dumps({"message": json.dumps({"body": BODY})})[:60],
        "body is too long: 'bring the results…'",
    ],
    ids=["as it is", "escaped", "escaped twice and cut off", "a part"],
)
async def test_an_answer_that_repeats_the_reminder_is_not_recorded(kind, answer):
    outcome = kind(answer) if kind else Uncertain(code="partial", error=answer)
    bus = await claimed()
    async with desk(bus, ScriptedProvider(outcome)) as at:
        at.offer(title=TITLE, body=BODY)
        await at.all_ended(1)
    ((_, reported),) = bus.sent
    assert (reported.code, reported.error) == (outcome.code, NOT_RECORDED)


async def test_any_other_answer_is_recorded_as_it_is():
    bus = await claimed()
    async with desk(bus, ScriptedProvider(Failed(permanent=True, code="http_401", error="wrong API key"))) as at:
        at.offer(title=TITLE, body=BODY)
        await at.all_ended(1)
    assert bus.sent[0][1].error == "wrong API key"
