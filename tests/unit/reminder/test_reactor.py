"""The reactor beside a writer: claims what is due, sends it once, survives what goes wrong."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from drover.bus.messages import Accepted
from drover.domain.erasure import note_erased
from drover.domain.reminder import commands as c
from drover.domain.reminder import reminder_decider
from drover.domain.reminder.policy import Policy
from drover.eventlog.log import Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.snapshots import MemorySnapshots
from drover.reminder import reactor as reactor_module
from drover.reminder.batches import size_label
from drover.reminder.notification import Delivered, Failed
from drover.reminder.reactor import Reactor
from drover.reminder.sender import Sender
from drover.testing.clock import VirtualClock
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually
from drover.web.alarm_texts import AlarmTexts
from drover.writer.snapshots import Snapshotter
from drover.writer.writer import Writer
from tests.subject_keys import Leaders, local_keys
from tests.unit.reminder.world import ScriptedProvider

DECIDER = reminder_decider(Policy(recover_after=timedelta(minutes=10)))
PARTITION = Partition("reminder", "p0")


class WriterBus:
    """The bus as a way to the writer in this process."""

    def __init__(self, writer):
        self.writer = writer

    def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        assert partition == PARTITION.name
        return self.writer.submit(command, by=by, id=id)


class CountingReactor(Reactor):
    """Says how often it has looked."""

    looks = 0

    def _measure(self, state, limit):
        self.looks += 1
        super()._measure(state, limit)


class Bench:
    def __init__(self, provider=None, *, fetch_limit=100, concurrency=10):
        self.clock = VirtualClock()
        self.log = MemoryLog(PARTITION)
        self.lease = LocalLease()
        self.provider = provider or ScriptedProvider()
        self.leaders = Leaders()
        self.fetch_limit, self.concurrency = fetch_limit, concurrency

    @asynccontextmanager
    async def running(self, *, sends=True, leads=True):
        snapshotter = Snapshotter(DECIDER, PARTITION, MemorySnapshots(), every_events=10**9)
        writer = Writer(DECIDER, self.log, self.lease, snapshotter, instance="i", clock=self.clock)
        sender = Sender(self.provider, WriterBus(writer), concurrency=self.concurrency, instance="i")
        self.reactor = CountingReactor(
            writer,
            sender,
            AlarmTexts(self.keys()),
            fetch_limit=self.fetch_limit,
            instance="i",
            clock=lambda: self.clock.now().timestamp(),
        )
        async with writer.running(), sender.running():
            if leads:
                await asyncio.wait_for(writer.leading.wait(), 5)
            self.writer = writer
            if not sends:
                yield self
                return
            async with self.reactor.running():
                yield self

    async def do(self, command):
        outcome = await self.writer.submit(command, by="test")
        assert isinstance(outcome, Accepted), outcome
        return outcome.result

    async def registered(self, *pages, user="user_1"):
        for page in pages:
            await self.do(c.RegisterByPage(page, user, f"title of {page}", f"body of {page}"))

    async def sealed(self, page="page-1", user="user_1"):
        seal = await AlarmTexts(self.keys()).sealer([user])
        await self.do(c.RegisterByPage(page, user, seal(user, "title", "Take your pills"), seal(user, "body", "now")))

    def keys(self):
        return local_keys("reminder", partitions=[PARTITION.name], leaders=self.leaders)

    async def looked(self):
        """The reactor has looked at what is due, more than once since now."""
        aim = self.reactor.looks + 3
        await eventually(lambda: self.reactor.looks >= aim)

    def alarm(self, page="page-1"):
        return self.writer.state.alarms[page]

    async def settled(self):
        """Everything that is due was sent and reported."""
        now = self.clock.now().timestamp()
        await eventually(lambda: (self.writer.state.due_s() or now + 1) > now and not self.writer.state.in_hand)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(reactor_module, "POLL_S", 0.01)
    monkeypatch.setattr(reactor_module, "PAUSE_S", 0.001)


@pytest.mark.req("RM-02", "RM-04", "RM-10")
async def test_what_is_due_is_sent_once_with_its_key_and_its_text():
    async with Bench().running() as bench:
        await bench.registered("page-1")
        await eventually(lambda: bench.provider.sent)
        await bench.settled()
        (sent,) = bench.provider.sent
        assert (sent.key, sent.title, sent.body, sent.user_id) == (
            "page-1:1",
            "title of page-1",
            "body of page-1",
            "user_1",
        )
        assert bench.alarm().sent_count == 2
        bench.clock.advance(days=1)
        await eventually(lambda: len(bench.provider.sent) == 2)
        assert bench.provider.sent[1].key == "page-1:2"


@pytest.mark.req("RM-03")
async def test_what_is_set_for_later_waits_and_is_sent_when_its_time_has_come():
    async with Bench().running(sends=False) as bench:
        await bench.registered("page-1")
        await bench.do(c.Schedule("page-1", "user_1", bench.clock.now() + timedelta(hours=1)))
        async with bench.reactor.running():
            await bench.looked()
            assert bench.provider.sent == []
            bench.clock.advance(hours=1)
            await eventually(lambda: bench.provider.sent)


@pytest.mark.req("RM-07", "RM-10")
async def test_a_failure_is_tried_again_after_its_delay_with_the_same_key():
    provider = ScriptedProvider(Failed(permanent=False, code="http_503"))
    with capture_logs():
        async with Bench(provider).running() as bench:
            await bench.registered("page-1")
            await eventually(lambda: bench.writer.state.failed_in_row)
            await bench.looked()
            assert len(provider.sent) == 1
            bench.clock.advance(seconds=30)
            await eventually(lambda: bench.writer.state.alarms["page-1"].sent_count == 2)
    assert [sent.key for sent in provider.sent] == ["page-1:1", "page-1:1"]


@pytest.mark.req("RM-06", "RM-07")
async def test_what_was_claimed_when_a_process_died_is_sent_when_its_claim_lapses():
    async with Bench().running(sends=False) as bench:
        await bench.registered("page-1")
        await bench.do(c.ClaimDue(1, "dead"))
        async with bench.reactor.running():
            await bench.looked()
            assert bench.provider.sent == []
            bench.clock.advance(minutes=10)
            await eventually(lambda: bench.alarm().sent_count == 2)
    assert [sent.key for sent in bench.provider.sent] == ["page-1:1"]


@pytest.mark.req("RM-12", "RM-15")
async def test_claims_are_as_large_as_the_limit_says_also_when_it_changes_while_running():
    gate = asyncio.Event()

    class Slow(ScriptedProvider):
        async def send(self, notification):
            self.sent.append(notification)
            await gate.wait()
            return Delivered()

    bench = Bench(Slow(), fetch_limit=10, concurrency=100)
    async with bench.running(sends=False):
        await bench.registered(*(f"page-{number}" for number in range(100)))
        async with bench.reactor.running():
            await eventually(lambda: len(bench.provider.sent) == 20)
            await bench.looked()
            assert len(bench.writer.state.in_hand) == 20, "one claim being sent, and the next"
            await bench.do(c.ChangeFetchLimit(30))
            await eventually(lambda: len(bench.writer.state.in_hand) == 50)
            assert REGISTRY.get_sample_value("drover_reminder_fetch_limit", {"partition": "p0"}) == 30
            gate.set()
            await bench.settled()
    assert len({sent.key for sent in bench.provider.sent}) == len(bench.provider.sent) == 100


@pytest.mark.req("RM-12", "RM-15")
async def test_how_long_a_batch_took_is_measured_by_its_size():
    def count(label):
        name = "drover_reminder_processing_time_ms_count"
        return REGISTRY.get_sample_value(name, {"batch_size": label}) or 0

    before = count("11-50")
    async with Bench().running(sends=False) as bench:
        await bench.registered(*(f"page-{number}" for number in range(12)))
        async with bench.reactor.running():
            await bench.settled()
    assert count("11-50") == before + 1
    sizes = ["1", "2-10", "2-10", "11-50", "51-100", "101-200"]
    assert [size_label(alarms) for alarms in (1, 2, 10, 11, 100, 200)] == sizes


@pytest.mark.req("RM-06")
async def test_a_stop_lets_what_is_being_sent_end_and_claims_nothing_more():
    gate = asyncio.Event()

    class Slow(ScriptedProvider):
        async def send(self, notification):
            self.sent.append(notification)
            await gate.wait()
            return Delivered()

    bench = Bench(Slow(), fetch_limit=1, concurrency=1)
    async with bench.running(sends=False):
        await bench.registered("page-1", "page-2")
        running = bench.reactor.running()
        await running.__aenter__()
        await eventually(lambda: bench.provider.sent)
        stopping = asyncio.create_task(running.__aexit__(None, None, None))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not stopping.done()
        gate.set()
        await stopping
        assert bench.alarm("page-1").sent_count == 2
        assert bench.alarm("page-2").sent_count == 1
        assert not bench.alarm("page-2").dispatched, "given back, not left to lapse"


@pytest.mark.req("RM-06")
async def test_who_does_not_lead_sends_nothing_until_it_does():
    bench, lock = Bench(), asyncio.Lock()
    async with bench.running(sends=False):
        await bench.registered("page-1")
    await lock.acquire()  # somebody else's
    bench.lease = LocalLease(lock)
    async with bench.running(leads=False):
        await eventually(lambda: bench.writer.state and bench.writer.state.alarms)
        for _ in range(20):
            await asyncio.sleep(0)
        assert bench.provider.sent == []
        lock.release()
        await eventually(lambda: bench.provider.sent)


async def test_subscriptions_that_have_it_are_left_out():
    async with Bench().running(sends=False) as bench:
        await bench.registered("page-1")
        for name in ("s1", "s2"):
            await bench.do(c.AddSubscription("user_1", name, "webpush", "x"))
        await bench.do(c.ClaimDue(1, "other"))
        await bench.do(c.ReportUnknown("page-1", 1, 1, 1, "partial", "", ("s1",)))
        bench.clock.advance(minutes=10)
        async with bench.reactor.running():
            await eventually(lambda: bench.provider.sent)
    (sent,) = bench.provider.sent
    assert [one.subscription_id for one in sent.subscriptions] == ["s2"]
    assert sent.delivered == ("s1",)


@pytest.mark.req("RM-14")
async def test_a_reactor_that_stumbles_goes_on(monkeypatch):
    monkeypatch.setattr(reactor_module, "TROUBLE_PAUSE_S", 0.001)
    bench = Bench()
    with capture_logs() as lines:
        async with bench.running(sends=False):
            await bench.registered("page-1")
            real, faults = bench.reactor._measure, [RuntimeError("oops")]

            def measure(*arguments):
                if faults:
                    raise faults.pop()
                real(*arguments)

            bench.reactor._measure = measure
            async with bench.reactor.running():
                await eventually(lambda: bench.provider.sent)
    assert "reactor_stumbled" in [line["event"] for line in lines]


@pytest.mark.req("SE-09")
async def test_sealed_texts_are_opened_for_the_provider_with_one_question_for_a_claim():
    bench = Bench()
    async with bench.running(sends=False):
        for number in range(20):
            await bench.sealed(f"page-{number}", f"user_{number}")
        bench.leaders.questions.clear()
        async with bench.reactor.running():
            await eventually(lambda: len(bench.provider.sent) == 20)
    assert {(sent.title, sent.body) for sent in bench.provider.sent} == {("Take your pills", "now")}
    assert len(bench.leaders.questions) == 1


@pytest.mark.req("SE-09")
async def test_the_alarm_of_an_erased_user_is_not_sent_and_not_tried_again_soon():
    bench = Bench()
    async with bench.running(sends=False):
        await bench.sealed()
        note_erased(bench.leaders.erased, "reminder", "user_1")
        async with bench.reactor.running():
            await eventually(lambda: not bench.alarm().dispatched and bench.alarm().attempt == 1)
            assert bench.alarm().next_s > bench.clock.now().timestamp()
    assert bench.provider.sent == []


@pytest.mark.req("SE-09")
async def test_an_alarm_whose_key_cannot_be_reached_is_tried_again():
    bench = Bench()
    async with bench.running(sends=False):
        await bench.sealed()
        bench.leaders.away = True
        async with bench.reactor.running():
            await eventually(lambda: not bench.alarm().dispatched and bench.alarm().attempt == 1)
            assert bench.provider.sent == []
            bench.leaders.away = False
            bench.clock.advance(hours=1)
            await eventually(lambda: bench.provider.sent)
    assert bench.provider.sent[0].title == "Take your pills"
