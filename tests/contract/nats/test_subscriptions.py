"""Messages between clients: patterns, queue groups, requests, and ends of subscriptions."""

import asyncio
from collections import Counter

import pytest
from nats.errors import MaxPayloadError, NoRespondersError
from uuid_utils import uuid4

from drover.bus.connection import connected
from tests.contract.nats.conftest import Inbox, settled


@pytest.fixture
def topic():
    return f"t{uuid4().hex[:12]}"


@pytest.mark.parametrize(
    ("pattern", "heard"),
    [("one.two", ["one.two"]), ("one.*", ["one.two"]), ("*.two", ["one.two"]), (">", ["one", "one.two", "one.two.x"]),
     ("one.>", ["one.two", "one.two.x"]), ("*", ["one"]), ("two", [])],
)  # fmt: skip
async def test_a_pattern_hears_the_subjects_that_it_matches(client, inbox, topic, pattern, heard):
    await client.subscribe(f"{topic}.{pattern}", cb=inbox.on_message)
    for subject in ("one", "one.two", "one.two.x"):
        await client.publish(f"{topic}.{subject}", b"")
    await client.publish(inbox.subject, b"the end")
    assert (await inbox.has(len(heard) + 1))[-1].data == b"the end"
    assert [message.subject for message in inbox.messages[:-1]] == [f"{topic}.{subject}" for subject in heard]


async def test_headers_reply_and_data_arrive_as_they_were_sent(client, inbox):
    await client.publish(inbox.subject, "붉은".encode(), reply="answer.here", headers={"Colour": "red"})
    (message,) = await inbox.has(1)
    assert (message.data.decode(), message.reply, message.headers) == ("붉은", "answer.here", {"Colour": "red"})


async def test_each_message_goes_to_one_member_of_a_queue_group_and_to_every_plain_subscriber(server, client, topic):
    async with connected(server.url, "members") as members:
        boxes = {name: Inbox(members) for name in ("first", "second", "plain")}
        for name, box in boxes.items():
            await members.subscribe(topic, queue="" if name == "plain" else "group", cb=box.on_message)
        await settled(members)
        for number in range(50):
            await client.publish(topic, b"%d" % number)
        await boxes["plain"].has(50)
        await settled(members)
    counts = Counter(message.data for name in ("first", "second") for message in boxes[name].messages)
    assert sorted(counts.values()) == [1] * 50
    assert boxes["first"].messages and boxes["second"].messages


async def test_a_request_is_answered(client, topic):
    async def answer(message):
        await message.respond(message.data + b"!")

    await client.subscribe(topic, cb=answer)
    assert (await client.request(topic, b"hello", timeout=5)).data == b"hello!"


async def test_a_request_that_nobody_hears_fails_at_once(client, topic):
    with pytest.raises(NoRespondersError):
        await client.request(topic, b"", timeout=60)


async def test_a_request_that_nobody_answers_times_out(client, inbox):
    with pytest.raises(TimeoutError):
        await client.request(inbox.subject, b"", timeout=0.2)


async def test_after_the_end_of_a_subscription_there_are_no_responders(client, topic):
    async def answer(message):
        await message.respond(b"")

    subscription = await client.subscribe(topic, cb=answer)
    await client.request(topic, b"", timeout=5)
    await subscription.unsubscribe()
    with pytest.raises(NoRespondersError):
        await client.request(topic, b"", timeout=60)


async def test_a_drained_subscription_handles_what_has_arrived(client, topic):
    handled = []

    async def slowly(message):
        await asyncio.sleep(0.01)
        handled.append(message.data)

    subscription = await client.subscribe(topic, cb=slowly)
    for number in range(5):
        await client.publish(topic, b"%d" % number)
    await settled(client)
    await subscription.drain()
    assert len(handled) == 5


async def test_the_subscriptions_of_a_client_end_with_its_connection(server, client, topic):
    async with connected(server.url, "short") as short:
        await short.subscribe(topic, cb=Inbox(short).on_message)
        await settled(short)

    async def is_gone():
        try:
            await client.request(topic, b"", timeout=0.1)
        except NoRespondersError:
            return True
        except TimeoutError:
            return False

    assert await is_gone() or await is_gone()


async def test_a_message_beyond_the_servers_limit_is_not_sent(client, inbox):
    assert client.max_payload == 8 * 1024 * 1024
    with pytest.raises(MaxPayloadError):
        await client.publish(inbox.subject, bytes(client.max_payload + 1))


async def test_the_servers_version_is_known(client):
    version = client.connected_server_version
    assert (version.major, version.minor) == (2, 15)
