"""Atomic batches: many messages with one acknowledgement, stored together or not at all."""

import pytest

from tests.contract.nats.conftest import refused, restarted, settled, stream_on


@pytest.fixture
async def stream(server):
    async with stream_on(server, allow_atomic=True) as stream:
        yield stream


async def send(stream, id, numbers, *, part="a", **first):
    """Send these messages of a batch; the last of them commits it."""
    *earlier, last = numbers
    for number in earlier:
        headers = {"Nats-Batch-Id": id, "Nats-Batch-Sequence": str(number)}
        headers |= {name.replace("_", "-"): str(value) for name, value in first.items() if number == numbers[0]}
        await stream.client.publish(stream.subject(part), b"%d" % number, headers=headers)
    headers = {"Nats-Batch-Id": id, "Nats-Batch-Sequence": str(last), "Nats-Batch-Commit": "1"}
    return await stream.request(stream.subject(part), b"%d" % last, headers)


@pytest.mark.req("YR-11")
async def test_a_batch_is_stored_whole_with_its_last_message(stream):
    await stream.put("a")
    assert await send(stream, "x", [1, 2, 3]) == {"stream": stream.name, "seq": 4, "batch": "x", "count": 3}
    assert [(await stream.get(seq=seq)).text for seq in (2, 3, 4)] == ["1", "2", "3"]


async def test_nothing_of_a_batch_is_stored_before_its_last_message(stream):
    headers = {"Nats-Batch-Id": "x", "Nats-Batch-Sequence": "1"}
    begun = await stream.client.request(stream.subject("a"), b"first", timeout=5, headers=headers)
    assert begun.data == b""
    assert await stream.put("a", "between") == 1
    headers = {"Nats-Batch-Id": "x", "Nats-Batch-Sequence": "2", "Nats-Batch-Commit": "1"}
    assert (await stream.request(stream.subject("a"), b"last", headers))["seq"] == 3
    assert [(await stream.get(seq=seq)).text for seq in (1, 2, 3)] == ["between", "first", "last"]


@pytest.mark.parametrize("expectation", ["Nats_Expected_Last_Sequence", "Nats_Expected_Last_Subject_Sequence"])
async def test_a_batch_whose_first_message_expects_another_sequence_leaves_no_trace(stream, expectation):
    await send(stream, "x", [1, 2], **{expectation: 0})
    with refused(10071, "wrong last sequence: 2"):
        await send(stream, "y", [1, 2], **{expectation: 0})
    assert await stream.bounds() == (1, 2, 2)
    assert (await send(stream, "z", [1, 2], **{expectation: 2}))["seq"] == 4


@pytest.mark.parametrize(
    ("limit", "text"), [({"max_msgs": 3}, "maximum messages exceeded"), ({"max_bytes": 300}, "maximum bytes exceeded")]
)
async def test_a_batch_that_does_not_fit_leaves_no_trace(stream, limit, text):
    await stream.update(allow_atomic=True, **limit)
    await stream.put("a")
    before = await stream.state()
    with refused(10077, text):
        await send(stream, "x", [1, 2, 3])
    assert await stream.state() == before
    assert await stream.put("a", after=1) == 2


@pytest.mark.parametrize("numbers", [[2], [1, 3], [1, 2, 4]])
async def test_a_batch_with_a_hole_is_refused(stream, numbers):
    with refused(10176, "atomic publish batch is incomplete"):
        await send(stream, "x", numbers)
    assert await stream.bounds() == (0, 0, 0)


async def test_a_batch_has_at_most_a_thousand_messages(stream):
    assert (await send(stream, "x", range(1, 1001)))["seq"] == 1000
    with refused(10199, "atomic publish batch is too large: 1000"):
        await send(stream, "y", range(1, 1002))
    assert (await stream.bounds())[1] == 1000


async def test_a_stream_that_does_not_allow_them_refuses_batches(server):
    async with stream_on(server) as stream:
        with refused(10174, "atomic publish is disabled"):
            await send(stream, "x", [1])


async def test_a_restart_forgets_a_batch_that_was_not_committed(own_server):
    async with stream_on(own_server, allow_atomic=True) as stream:
        headers = {"Nats-Batch-Id": "x", "Nats-Batch-Sequence": "1"}
        await stream.client.publish(stream.subject("a"), b"", headers=headers)
        await settled(stream.client)
        await restarted(own_server, stream.client)
        with refused(10176, "atomic publish batch is incomplete"):
            await send(stream, "x", [2])
