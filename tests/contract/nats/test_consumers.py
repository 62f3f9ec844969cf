"""Pull consumers, as readers of the log use them."""

from contextlib import suppress
from functools import partial

import msgspec
import nats.js.api as api
import pytest
from nats.errors import NoRespondersError
from nats.js.errors import NotFoundError

from drover.bus.connection import connected
from drover.testing.waiting import eventually
from tests.contract.nats.conftest import Inbox, settled

SECOND = 10**9


class Reader:
    """A consumer of a stream, and what it gave so far."""

    def __init__(self, stream, inbox):
        self.stream = stream
        self.inbox = inbox
        self.name = ""
        self.info = None

    async def start(self, part="*", after=0):
        config = api.ConsumerConfig(
            filter_subject=self.stream.subject(part),
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=after + 1,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=60,
            mem_storage=True,
            num_replicas=1,
        )
        self.info = await self.stream.client.jsm().add_consumer(self.stream.name, config)
        self.name = self.info.name

    async def pull(self, batch=100, *, client=None, inbox=None, **options):
        request = {"batch": batch, "expires": 30 * SECOND, **options}
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream.name}.{self.name}"
        reply = (inbox or self.inbox).subject
        await (client or self.stream.client).publish(subject, msgspec.json.encode(request), reply=reply)

    async def seqs(self, count):
        return [message.metadata.sequence.stream for message in await self.inbox.has(count)]

    async def wait(self):
        """Pull, and return when the server has the request: its heartbeats begin."""
        await self.pull(idle_heartbeat=SECOND // 2)
        await self.inbox.has(1)

    async def status(self):
        def statuses():
            found = [one.headers for one in self.inbox.messages if one.headers and "Status" in one.headers]
            return [one for one in found if one["Status"] != "100"]

        return (await eventually(statuses))[0]


@pytest.fixture
async def reader(stream, inbox):
    for part in "ababab":
        await stream.put(part, part)
    return Reader(stream, inbox)


async def test_a_pull_gets_what_is_there_and_then_what_comes(reader, stream):
    await reader.start()
    await reader.pull()
    assert await reader.seqs(6) == [1, 2, 3, 4, 5, 6]
    await stream.put("a")
    assert (await reader.seqs(7))[-1] == 7


async def test_a_delivered_message_names_its_subject_place_and_time_and_what_is_left(reader, stream):
    await reader.start("a")
    await reader.pull(2)
    second = (await reader.inbox.has(2))[1]
    assert (second.subject, second.data) == (stream.subject("a"), b"a")
    meta = second.metadata
    assert (meta.stream, meta.consumer, meta.num_delivered, meta.num_pending) == (stream.name, reader.name, 1, 1)
    assert (meta.sequence.stream, meta.sequence.consumer) == (3, 2)
    stored = (await stream.get(seq=3)).time
    assert abs((meta.timestamp.replace(tzinfo=stored.tzinfo) - stored).total_seconds()) < 0.001


async def test_a_pull_ends_after_its_number_of_messages(reader):
    await reader.start()
    await reader.pull(2)
    await reader.pull(1)
    assert await reader.seqs(3) == [1, 2, 3]
    await reader.pull(1)
    assert await reader.seqs(4) == [1, 2, 3, 4]


async def test_a_consumer_starts_at_the_sequence_that_it_names(reader):
    await reader.start("a", after=3)
    assert reader.info.num_pending == 1
    await reader.pull()
    assert await reader.seqs(1) == [5]


@pytest.mark.req("YR-02")
async def test_a_consumer_below_the_first_message_silently_begins_at_the_first(reader, stream):
    """The reason why a reader compares its start with the bottom of the log."""
    await stream.purge(seq=4)
    await reader.start(after=0)
    assert reader.info.num_pending == 3
    await reader.pull()
    messages = await reader.inbox.has(3)
    assert await reader.seqs(3) == [4, 5, 6]
    assert [message.metadata.sequence.consumer for message in messages] == [1, 2, 3]


async def test_a_consumer_beyond_the_last_message_waits_for_its_sequence(reader, stream):
    await reader.start(after=7)
    await reader.pull()
    for _ in range(3):
        await stream.put("a")
    assert await reader.seqs(2) == [8, 9]


async def test_messages_that_are_purged_before_their_delivery_are_left_out_and_not_counted(reader, stream):
    await reader.start("b")
    await reader.pull(1)
    await reader.inbox.has(1)
    await stream.purge("b", seq=6)
    await reader.pull(1)
    last = (await reader.inbox.has(2))[1].metadata
    assert (last.sequence.stream, last.sequence.consumer, last.num_pending) == (6, 2, 0)


async def test_a_pull_without_messages_gets_heartbeats_and_then_its_end(reader):
    await reader.start(after=6)
    await reader.pull(9, expires=2 * SECOND, idle_heartbeat=SECOND // 2)
    found = await eventually(
        lambda: [one.headers for one in reader.inbox.messages] if len(reader.inbox.messages) > 3 else None
    )
    assert [one["Status"] for one in found] == ["100", "100", "100", "408"]
    assert found[-1]["Nats-Pending-Messages"] == "9"


async def test_a_pull_ends_at_a_message_that_is_too_large_for_its_bytes(reader, stream):
    for _ in range(3):
        await stream.put("big", "x" * 400)
    await reader.start("big")
    await reader.pull(9, max_bytes=1200)
    assert (await reader.status())["Status"] == "409"
    assert (await reader.status())["Nats-Pending-Messages"] == "7"
    assert len(reader.inbox.messages) == 3
    await reader.pull(1)
    assert (await reader.inbox.has(4))[-1].metadata.sequence.consumer == 3


async def test_the_end_of_a_consumer_is_told_to_those_who_wait(reader):
    await reader.start(after=6)
    await reader.wait()
    assert await reader.stream.client.jsm().delete_consumer(reader.stream.name, reader.name)
    status = await reader.status()
    assert (status["Status"], status["Description"]) == ("409", "Consumer Deleted")


async def test_the_end_of_a_stream_is_told_to_those_who_wait(reader, stream):
    await reader.start(after=6)
    await reader.wait()
    await stream.api("STREAM.DELETE")
    assert (await reader.status())["Description"] == "Consumer Deleted"


async def test_a_consumer_that_is_gone_has_no_responders(reader):
    await reader.start()
    await reader.stream.client.jsm().delete_consumer(reader.stream.name, reader.name)
    await reader.pull()
    assert (await reader.status())["Status"] == "503"
    with pytest.raises(NotFoundError) as refused:
        await reader.stream.client.jsm().delete_consumer(reader.stream.name, reader.name)
    assert refused.value.err_code == 10014


async def nobody_hears(client, subject):
    with suppress(TimeoutError):
        try:
            await client.request(subject, b"", timeout=0.1)
        except NoRespondersError:
            return True
    return False


async def test_the_pull_of_a_client_that_left_takes_no_messages(reader, server, stream):
    await reader.start(after=6)
    async with connected(server.url, "leaves") as leaving:
        box = Inbox(leaving)
        await leaving.subscribe(box.subject, cb=box.on_message)
        await reader.pull(client=leaving, inbox=box)
        await settled(leaving)
    await eventually(partial(nobody_hears, stream.client, box.subject))  # the server has noticed that it left
    await reader.pull()
    await stream.put("a")
    assert (await reader.inbox.has(1))[0].metadata.sequence.consumer == 1
