"""What the server does with a message for a stream: expected sequences, duplicates, and where it refuses."""

import pytest
from nats.errors import NoRespondersError

from drover.testing.waiting import eventually
from tests.contract.nats.conftest import Failed, refused


async def test_sequences_of_a_stream_rise_by_one_over_all_its_subjects(stream):
    assert [await stream.put(part) for part in ("a", "b", "a")] == [1, 2, 3]


async def test_a_message_with_the_right_expected_sequence_of_its_subject_is_stored(stream):
    first = await stream.put("a", after=0)
    await stream.put("b", after=0)
    assert await stream.put("a", after=first) == 3


@pytest.mark.parametrize("expected", ["0", "2", "99", "not a number"])
async def test_a_wrong_expected_sequence_of_the_subject_is_refused_with_the_true_one(stream, expected):
    await stream.put("a")
    await stream.put("b")
    with refused(10071, "wrong last sequence: 1"):
        await stream.put("a", after=expected)
    assert await stream.bounds() == (1, 2, 2)


async def test_an_expected_sequence_for_a_subject_without_messages_is_refused(stream):
    await stream.put("a")
    with refused(10071, "wrong last sequence: 0"):
        await stream.put("b", after=1)


async def test_the_expected_sequence_of_the_stream_counts_all_subjects(stream):
    await stream.put("a")
    with refused(10071, "wrong last sequence: 1"):
        await stream.put("b", Nats_Expected_Last_Sequence=0)
    assert await stream.put("b", Nats_Expected_Last_Sequence=1) == 2


async def test_a_message_for_another_stream_is_refused(stream):
    with refused(10060, "expected stream does not match"):
        await stream.put("a", Nats_Expected_Stream="ANOTHER")
    assert await stream.put("a", Nats_Expected_Stream=stream.name) == 1


async def test_a_message_id_that_was_seen_is_answered_with_the_first_sequence_and_stored_once(stream):
    await stream.put("a", Nats_Msg_Id="x")
    await stream.put("a", Nats_Msg_Id="y")
    again = await stream.request(stream.subject("a"), b"", {"Nats-Msg-Id": "x"})
    assert again == {"stream": stream.name, "seq": 1, "duplicate": True}
    assert (await stream.state())["messages"] == 2


async def test_a_stale_expected_sequence_outweighs_a_message_id_that_was_seen(stream):
    await stream.put("a", after=0, Nats_Msg_Id="x")
    with refused(10071, "wrong last sequence: 1"):
        await stream.put("a", after=0, Nats_Msg_Id="x")


async def test_a_subject_without_a_stream_has_no_responders(client):
    with pytest.raises(NoRespondersError):
        await client.request("nobody.stores.this", b"", timeout=5)


async def test_subscribers_see_a_message_even_if_the_stream_refuses_it(stream, client, inbox):
    await client.subscribe(stream.subject("a"), cb=inbox.on_message)
    with pytest.raises(Failed):
        await stream.put("a", "refused", after=7)
    await stream.put("a", "stored")
    assert [message.data for message in await inbox.has(2)] == [b"refused", b"stored"]


async def test_an_answer_to_a_reply_subject_inside_a_stream_is_stored_there(stream, client):
    await client.publish("$JS.API.STREAM.INFO.NONE", b"", reply=stream.subject("a"))

    async def stored():
        return (await stream.state())["messages"]

    assert await eventually(stored) == 1
    assert "stream not found" in (await stream.last("a")).text
