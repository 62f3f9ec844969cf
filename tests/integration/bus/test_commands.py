"""Commands between processes, over a real server: gathering, lost replies, changes of leader, bad messages."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest
from prometheus_client import REGISTRY
from uuid_utils import uuid4

from drover.bus.client import DEADLINE_S, CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted, Rejected, Reply
from drover.bus.server import answering
from drover.domain.backoff import Backoff
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.testing.faults import faulty_line
from drover.testing.waiting import eventually


class Echo(Command):
    text: str


class Leader:
    """Answers every command with its text, and remembers what it was sent."""

    def __init__(self):
        self.messages = []
        self.answer = lambda submission: Accepted(1, submission.command.text)

    def handle(self, submissions, done):
        self.messages.append(submissions)
        done([one if isinstance(one, Rejected) else self.answer(one) for one in submissions])


@pytest.fixture
async def client(nats):
    async with connected(nats.url, "test") as connection:
        yield connection


@pytest.fixture
def context():
    return f"t{uuid4().hex[:10]}"


@pytest.fixture
def no_repeats(monkeypatch):
    """No command is sent again only because this machine, or the server, stood still for a second."""
    monkeypatch.setattr("drover.bus.client.REPLY", Backoff(first_s=DEADLINE_S, max_s=DEADLINE_S))


@asynccontextmanager
async def leading(client, context, leader, epoch=1):
    async with answering(client, f"cmd.{context}.main", Echo, epoch, leader.handle):
        await client.flush()
        yield leader


async def test_commands_that_wait_at_the_same_moment_share_a_message(client, context, no_repeats):
    bus = CommandBus(client)
    async with leading(client, context, Leader()) as leader:
        outcomes = await asyncio.gather(*(bus.send(context, Echo(str(i)), by="t") for i in range(50)))
    assert [outcome.result for outcome in outcomes] == [str(i) for i in range(50)]
    assert [len(message) for message in leader.messages] == [50]


async def test_a_lone_command_does_not_wait_for_company(client, context, monkeypatch, no_repeats):
    bus = CommandBus(client)
    monkeypatch.setattr("drover.bus.client.MESSAGE_EVERY_S", 3600.0)  # for so long the second one would wait
    async with leading(client, context, Leader()) as leader:
        for text in ("first", "second"):
            assert (await bus.send(context, Echo(text), by="t")).result == text
    assert len(leader.messages) == 2


async def test_without_a_leader_a_command_waits_for_one(client, context):
    sending = CommandBus(client).send(context, Echo("patient"), by="t")
    await asyncio.sleep(0)
    async with leading(client, context, Leader()):
        assert (await sending).result == "patient"


async def test_a_command_that_nobody_answers_is_unavailable_at_its_deadline(client, context):
    outcome = await CommandBus(client).send(context, Echo("x"), by="t", timeout_s=0.3)
    assert outcome.code == Code.UNAVAILABLE


async def test_a_writer_whose_term_is_over_is_asked_again_with_the_same_id(client, context, no_repeats):
    leader = Leader()
    answers = iter([Rejected(Code.NOT_LEADER, "over"), Accepted(2, "done")])
    leader.answer = lambda submission: next(answers)
    async with leading(client, context, leader):
        outcome = await CommandBus(client).send(context, Echo("x"), by="t")
    assert outcome.result == "done"
    assert len({message[0].id for message in leader.messages}) == 1 and len(leader.messages) == 2


async def test_a_refusal_is_final_and_not_asked_again(client, context, no_repeats):
    leader = Leader()
    leader.answer = lambda submission: Rejected(Code.VALIDATION_ERROR, "no", {"field": "text"})
    async with leading(client, context, leader):
        outcome = await CommandBus(client).send(context, Echo("x"), by="t")
    assert (outcome.code, outcome.details) == (Code.VALIDATION_ERROR, {"field": "text"})
    assert len(leader.messages) == 1


async def test_a_reply_of_an_earlier_epoch_is_dropped(client, context):
    bus = CommandBus(client)
    async with leading(client, context, Leader(), epoch=5):
        await bus.send(context, Echo("x"), by="t")
    zombie = Leader()
    async with leading(client, context, zombie, epoch=4):
        outcome = await bus.send(context, Echo("x"), by="t", timeout_s=0.5)
        await eventually(lambda: zombie.messages)  # the server may be slow
    assert outcome.code == Code.UNAVAILABLE


async def test_a_lost_reply_is_made_good_by_asking_again_with_the_same_id(nats, client, context):
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(faulty_line("127.0.0.1", nats.port))
        url = nats.url.replace(str(nats.port), str(line.port))
        through = await stack.enter_async_context(connected(url, "cut"))
        leader = await stack.enter_async_context(leading(client, context, Leader()))
        line.cut_from_server = lambda data: 0 if b'"outcomes"' in data and not line.cuts else None
        outcome = await CommandBus(through).send(context, Echo("once"), by="t")
        assert outcome.result == "once"
        assert line.cuts == 1
        assert len(leader.messages) == 2
        assert len({message[0].id for message in leader.messages}) == 1


async def test_an_unreadable_command_spoils_only_itself(client, context):
    async with leading(client, context, Leader()):
        good = b'{"id":"1","by":"t","command":{"type":"Echo","text":"good"}}'
        body = b"[" + good + b',{"id":"2","by":"t","command":{"type":"Nope"}}]'
        message = await client.request(f"cmd.{context}.main", body, timeout=2)
    reply = msgspec.json.decode(message.data, type=Reply)
    assert [type(outcome) for outcome in reply.outcomes] == [Accepted, Rejected]
    assert reply.outcomes[1].code == Code.VALIDATION_ERROR


async def test_rubbish_at_the_door_does_not_close_it(client, context):
    async with leading(client, context, Leader()):
        for rubbish in (b"", b"nonsense", b"{}", b"[1,2]", b"\xff\xfe", b"[]"):
            await client.publish(f"cmd.{context}.main", rubbish)
        assert (await CommandBus(client).send(context, Echo("still here"), by="t")).result == "still here"


async def test_a_command_beyond_the_limit_is_refused_before_it_is_sent(client, context):
    async with leading(client, context, Leader()) as leader:
        outcome = await CommandBus(client).send(context, Echo("x" * 300_000), by="t")
    assert outcome.code == Code.TOO_LARGE
    assert not leader.messages


async def test_a_result_too_large_for_any_reply_is_refused_and_harms_no_other(client, context):
    leader = Leader()
    leader.answer = lambda s: Accepted(1, "x" * 1_000_000) if s.command.text == "big" else Accepted(1, "small")
    bus = CommandBus(client)
    async with leading(client, context, leader):
        big, small, other = await asyncio.gather(
            *(bus.send(context, Echo(text), by="t") for text in ("big", "small", "big"))
        )
    assert small.result == "small"
    assert big.code == other.code == Code.TOO_LARGE


async def test_too_many_waiting_commands_are_turned_away_at_once(client, context, monkeypatch):
    monkeypatch.setattr("drover.bus.client.WAITING_MAX", 10)
    bus = CommandBus(client)
    sent = [bus.send(context, Echo("x"), by="t", timeout_s=0.2) for _ in range(12)]
    codes = [outcome.code for outcome in await asyncio.gather(*sent)]
    assert codes.count(Code.OVERLOADED) == 2
    assert codes.count(Code.UNAVAILABLE) == 10
    # What has ended makes room again.
    assert (await bus.send(context, Echo("x"), by="t", timeout_s=0.1)).code == Code.UNAVAILABLE


async def test_a_caller_who_gives_up_harms_nobody(client, context):
    bus = CommandBus(client)
    given_up = bus.send(context, Echo("gone"), by="t")
    kept = bus.send(context, Echo("kept"), by="t")
    given_up.cancel()
    async with leading(client, context, Leader()):
        assert (await kept).result == "kept"
        await eventually(lambda: given_up.cancelled())


async def test_no_room_is_no_answer_for_a_command_that_may_already_have_taken_effect(client, context):
    """The first try goes unanswered but is decided later; the repeat finds the intake full."""
    leader = Leader()
    answers = iter([None, Rejected(Code.OVERLOADED, "full"), Accepted(3, "as decided the first time")])

    def handle(submissions, done):
        leader.messages.append(submissions)
        if (answer := next(answers)) is not None:
            done([answer])

    leader.handle = handle
    async with leading(client, context, leader):
        outcome = await CommandBus(client).send(context, Echo("x"), by="t")
    assert outcome.result == "as decided the first time"
    assert len({message[0].id for message in leader.messages}) == 1


async def test_no_room_on_the_first_try_is_told_at_once(client, context, no_repeats):
    leader = Leader()
    leader.answer = lambda submission: Rejected(Code.OVERLOADED, "full")
    async with leading(client, context, leader):
        assert (await CommandBus(client).send(context, Echo("x"), by="t")).code == Code.OVERLOADED
    assert len(leader.messages) == 1


async def test_answers_that_do_not_fit_one_reply_arrive_in_several(client, context):
    leader = Leader()
    leader.answer = lambda submission: Accepted(1, submission.command.text * 40_000)
    bus = CommandBus(client)
    async with leading(client, context, leader):
        outcomes = await asyncio.gather(*(bus.send(context, Echo(str(i % 10)), by="t") for i in range(40)))
    assert [outcome.result[0] for outcome in outcomes] == [str(i % 10) for i in range(40)]


async def test_a_short_deadline_is_kept_in_the_company_of_longer_ones(client, context):
    bus = CommandBus(client)
    patient = bus.send(context, Echo("x"), by="t", timeout_s=60)
    short = bus.send(context, Echo("x"), by="t", timeout_s=0.3)
    assert (await short).code == Code.UNAVAILABLE
    assert not patient.done()
    async with leading(client, context, Leader()):
        assert (await patient).result == "x"


async def test_commands_are_timed_and_those_that_nobody_answers_are_counted(client, context):
    def counted(name):
        return REGISTRY.get_sample_value(name, {"context": context})

    bus = CommandBus(client)
    async with leading(client, context, Leader()):
        await asyncio.gather(*(bus.send(context, Echo(str(i)), by="t") for i in range(3)))
    assert counted("drover_bus_command_seconds_count") == 3
    assert counted("drover_bus_unanswered_commands_total") == 0
    assert (await bus.send(context, Echo("?"), by="t", timeout_s=0.05)).code == Code.UNAVAILABLE
    assert counted("drover_bus_unanswered_commands_total") == 1
    assert counted("drover_bus_command_seconds_count") == 3
