"""The copy of the bucket of keys in a process, with answers of NATS that get lost on their way."""

from __future__ import annotations

import asyncio
import base64
from types import SimpleNamespace

import msgspec
import pytest
from nats.errors import TimeoutError as NatsTimeout

from drover.web.key_book import KeyBook
from drover.web.key_bucket import SHARDS, KeyBucket, encode_shards, shard_of

pytestmark = pytest.mark.req("SE-01")

REVOKED = "eeeeeeee-0000-4000-8000-000000000001"


class Nats:
    """A stream with one message for each entry. `lost`: the numbers of the requests that get no answer."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, bytes]] = []
        self.lost: set[int] = set()
        self.requests = 0

    def put(self, name: str, data: bytes) -> None:
        self.messages.append((name, data))

    async def request(self, subject: str, body: bytes, **_: object) -> SimpleNamespace:
        self.requests += 1
        if self.requests in self.lost:
            raise NatsTimeout
        if ".STREAM.INFO." in subject:
            answer: object = {"created": "once", "state": {"last_seq": len(self.messages)}}
        else:
            seq = msgspec.json.decode(body)["seq"]
            name, data = self.messages[seq - 1]
            stored = base64.b64encode(data).decode()
            answer = {"message": {"seq": seq, "subject": f"$KV.drover_keys.{name}", "data": stored}}
        return SimpleNamespace(data=msgspec.json.encode(answer))


@pytest.fixture
def nats() -> Nats:
    nats = Nats()
    for name, data in encode_shards((), ()).items():
        nats.put(name, data)
    return nats


async def test_an_entry_read_before_an_answer_was_lost_is_reported_afterwards(nats):
    bucket = KeyBucket(nats)
    nats.lost = {4}
    with pytest.raises(NatsTimeout):
        await bucket.refresh()
    assert await bucket.refresh() == [*SHARDS]
    assert await bucket.refresh() == []


async def test_a_revoked_key_is_refused_although_the_answer_after_it_was_lost(nats):
    book = KeyBook(nats)
    await book.look()
    assert book.is_current and not book.is_revoked(REVOKED)
    nats.put(shard_of(REVOKED), encode_shards([REVOKED], ())[shard_of(REVOKED)])
    nats.put(SHARDS[0], encode_shards((), ())[SHARDS[0]])
    nats.lost = {nats.requests + 3}  # the entry with the key is read, the one after it is not
    await book.look()
    await book.look()
    assert book.is_revoked(REVOKED)


async def test_a_process_waits_for_the_first_answer_and_opens_without_it_after_a_while(nats):
    book = KeyBook(nats)
    async with book.known(within_s=0.0):
        assert not book.is_current, "it goes on: requests are 503 until the bucket answers"

    async def opens() -> bool:
        async with book.known():
            return book.is_current

    opening = asyncio.create_task(opens())
    await asyncio.sleep(0)
    assert not opening.done()
    await book.look()
    assert await opening
