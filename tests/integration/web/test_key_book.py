"""The bucket of keys on a real NATS: the leader of identity writes it, every verifier follows it."""

from __future__ import annotations

import asyncio
import copy
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import msgspec
import pytest

from drover.api.identity import key_publisher
from drover.api.identity.key_publisher import KeyPublisher
from drover.bus.connection import connected
from drover.domain.identity.policy import KeyRole
from drover.domain.identity.state import ApiKey, Identity
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.service.identity_keys import IdentityKeys
from drover.testing.waiting import eventually
from drover.web import key_book
from drover.web.errors import ApiError
from drover.web.key_book import GRACE_S, KeyBook
from drover.web.key_bucket import BUCKET, SHARDS, SIGNING, public_keys_of, shard_of
from drover.writer.nats_writer import prepare

pytestmark = pytest.mark.req("SE-01")

KEYS = IdentityKeys(["i" * 32])
PUBLIC = public_keys_of(KEYS)
WITHIN_S = 2.0
"""Within this time, every process must know that a key was revoked."""


class Leader:
    """Stands in for identity's writer."""

    def __init__(self) -> None:
        self.leading = asyncio.Event()
        self.leading.set()
        self.is_sole_leader = True
        self.epoch = 1
        self.state = Identity()


def key_id(number: int) -> str:
    return f"eeeeeeee-0000-4000-8000-{number:012d}"


class Platform:
    """One leader, and verifiers with connections of their own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.leader = Leader()
        self.publisher: KeyPublisher | None = None

    def revoke(self, number: int, digest: str | None = None, by: tuple[Leader, KeyPublisher] | None = None) -> None:
        leader, publisher = by or (self.leader, self.publisher)
        expires_at = datetime.now(UTC) + timedelta(days=1)
        key = ApiKey(key_id(number), "k", KeyRole.ANON, expires_at, digest=digest, is_revoked=True)
        leader.state.api_keys[key.key_id] = key
        leader.state.revoked[key.key_id] = None
        if digest is not None:
            leader.state.adopted[digest] = key.key_id
        # The leader stores a commit about a key.
        publisher._note(SimpleNamespace(payload=b'{"type":"ApiKeyRevoked"}'))

    @asynccontextmanager
    async def leads(self):
        async with connected(self.url, "leader") as client:
            await prepare(client, ("identity",))
            async with self.writing(client, self.leader) as self.publisher:
                yield client

    @asynccontextmanager
    async def writing(self, client, leader: Leader):
        log = JetStreamLog(client, Partition("identity", "main"))
        publisher = KeyPublisher(client, leader, log, public_keys=PUBLIC)
        async with publisher.running():
            yield publisher

    @asynccontextmanager
    async def verifier(self, **options):
        async with connected(self.url, "verifier") as client:
            book = KeyBook(client, **options)
            async with book.running():
                yield book


@pytest.fixture
async def platform(own_nats):
    return Platform(own_nats.url)


async def ready(book: KeyBook) -> None:
    await eventually(lambda: book.why_not_ready() is None)


async def test_a_revoked_key_is_known_to_every_process_within_two_seconds(platform):
    loop = asyncio.get_running_loop()
    async with platform.leads(), platform.verifier() as one, platform.verifier() as other:
        await ready(one)
        await ready(other)
        heard = []
        one.listeners.append(lambda: heard.append(None))
        for number in range(5):
            began = loop.time()
            platform.revoke(number)
            for book in (one, other):
                await eventually(lambda book=book, number=number: book.is_revoked(key_id(number)), within_s=WITHIN_S)
            assert loop.time() - began < WITHIN_S
        assert len(heard) == 5, "whoever holds sockets open is told"


async def test_a_process_that_starts_later_knows_them_without_a_leader(platform):
    async with platform.leads(), platform.verifier() as book:
        platform.revoke(1, digest="d" * 64)
        await eventually(lambda: book.is_revoked(key_id(1)))
    async with platform.verifier() as late:
        await ready(late)
        assert late.is_revoked(key_id(1)) and late.is_revoked("d" * 64)
        assert late.adopted("d" * 64).role == "anon"
        assert late.api_key(KEYS.api[0].kid).public_numbers() == KEYS.api[0].public.public_numbers()
        assert late.person_key(KEYS.access[0].kid).public_numbers() == KEYS.access[0].public.public_numbers()
        assert late.api_key(KEYS.access[0].kid) is None, "one use each"
        assert late.person_key(KEYS.api[0].kid) is None


async def test_a_process_cut_off_from_nats_serves_a_minute_more_and_then_says_503(own_nats, platform):
    clock = SimpleNamespace(now=0.0)
    told = []
    async with platform.leads(), platform.verifier(clock=lambda: clock.now) as book:
        await ready(book)
        book.listeners.append(lambda: told.append(book.is_current))
        await own_nats.stop()
        await eventually(lambda: book._trouble is not None)
        clock.now = GRACE_S - 5
        book.check_current()
        clock.now = GRACE_S + 5
        with pytest.raises(ApiError) as caught:
            book.check_current()
        assert (caught.value.status, caught.value.code) == (503, key_book.UNKNOWN)
        await eventually(lambda: told == [False])
    assert book.why_not_ready() is not None


async def test_what_is_foreign_damaged_or_lost_is_ignored_and_put_right(platform):
    async with platform.leads() as client, platform.verifier() as book:
        platform.revoke(1)
        await eventually(lambda: book.is_revoked(key_id(1)))
        bucket = await client.jetstream().key_value(BUCKET)
        mine = shard_of(key_id(1))
        good = {name: (await bucket.get(name)).value for name in (mine, SIGNING)}
        for name, forged in ((mine, b"\x00"), (mine, b"{}"), (SIGNING, b'{"keys":[]}'), (SIGNING, b"nonsense")):
            await bucket.put(name, forged)
            await eventually(lambda name=name: _value(bucket, name, good[name]))
        await bucket.put("keys.99", b'{"revoked":["x"]}')
        await bucket.put("another", b"{}")
        platform.revoke(2)
        await eventually(lambda: book.is_revoked(key_id(2)))
        assert book.is_revoked(key_id(1)) and not book.is_revoked("x")
        assert book.api_key(KEYS.api[0].kid) is not None


async def _value(bucket, name, value) -> bool:
    return (await bucket.get(name)).value == value


async def test_a_bucket_that_is_lost_as_a_whole_is_made_anew(platform):
    async with platform.leads() as client, platform.verifier() as book:
        platform.revoke(1)
        await eventually(lambda: book.is_revoked(key_id(1)))
        await client.jetstream().delete_key_value(BUCKET)
        async with platform.verifier() as late:
            await ready(late)
            assert late.is_revoked(key_id(1))
        platform.revoke(2)
        await eventually(lambda: book.is_revoked(key_id(2)))
        assert book.is_revoked(key_id(1))


async def test_a_leader_that_leads_again_does_not_write_what_it_knew_in_its_earlier_term(platform):
    async with platform.leads() as client, platform.verifier() as book:
        platform.revoke(1)
        await eventually(lambda: book.is_revoked(key_id(1)))
        other = Leader()  # leads meanwhile, and revokes one more
        other.epoch, other.state = 2, copy.deepcopy(platform.leader.state)
        async with platform.writing(client, other) as publisher:
            platform.leader.is_sole_leader = False
            platform.revoke(2, by=(other, publisher))
            await eventually(lambda: book.is_revoked(key_id(2)))
        platform.leader.state = other.state  # its writer has read the log; its follower has not yet
        platform.leader.epoch = 3
        platform.leader.is_sole_leader = True
        for _ in range(3):
            assert await platform.publisher._published()
            await book.look()
            assert book.is_revoked(key_id(2))


async def test_a_damaged_entry_makes_a_new_process_wait_instead_of_accepting_revoked_keys(platform):
    async with platform.leads() as client:
        bucket = await _filled(client)
        platform.leader.leading.clear()
        platform.leader.is_sole_leader = False
        await bucket.put(SHARDS[3], b"nonsense")
        async with platform.verifier() as book:
            await eventually(lambda: len(book._shards) == len(SHARDS) - 1)
            with pytest.raises(ApiError):
                book.check_current()
            platform.leader.is_sole_leader = True
            platform.leader.leading.set()
            await ready(book)


async def _filled(client):
    async def complete():
        try:
            bucket = await client.jetstream().key_value(BUCKET)
            return bucket if len(await bucket.keys()) == len(SHARDS) + 1 else None
        except Exception:
            return None

    return await eventually(complete)


async def test_a_leader_that_was_paused_does_not_write_what_it_knew_before(platform):
    async with platform.leads() as client, platform.verifier() as book:
        platform.revoke(1)
        await eventually(lambda: book.is_revoked(key_id(1)))
        paused = Leader()  # its state is old: nothing is revoked
        paused.is_sole_leader = False
        log = JetStreamLog(client, Partition("identity", "main"))
        old = KeyPublisher(client, paused, log, public_keys=PUBLIC)
        assert await old._published() is False
        await book.look()
        assert book.is_revoked(key_id(1))


async def test_without_a_bucket_only_a_process_with_a_shared_secret_serves(own_nats, platform):
    async with platform.verifier() as book, platform.verifier(may_be_missing=True) as older:
        await eventually(lambda: "api" in (book.why_not_ready() or ""))
        with pytest.raises(ApiError):
            book.check_current()
        await ready(older)
        with pytest.raises(ApiError) as caught:
            older.api_key("any")
        assert caught.value.status == 503, "a signed key may be fine: its public key is not published yet"
        async with platform.leads():
            await ready(book)
            await eventually(lambda: knows(older))


def knows(book: KeyBook) -> bool:
    try:
        return book.api_key(KEYS.api[0].kid) is not None
    except ApiError:  # it has not read the public keys yet
        return False


async def test_an_api_that_signs_nothing_publishes_that_there_are_no_keys_but_never_removes_any(platform):
    async with platform.leads() as client:
        bucket = await _filled(client)
        await eventually(lambda: platform.publisher._wanted)
        silent = KeyPublisher(
            client, platform.leader, JetStreamLog(client, Partition("identity", "main")), public_keys=()
        )
        assert await silent._published()
        kids = [key["kid"] for key in msgspec.json.decode((await bucket.get(SIGNING)).value)["keys"]]
        assert kids == [key.kid for key in PUBLIC]


async def test_many_revoked_keys_are_read_in_a_moment(platform):
    expires_at = datetime.now(UTC) + timedelta(days=1)
    for number in range(50_000):
        platform.leader.state.api_keys[key_id(number)] = ApiKey(key_id(number), "k", KeyRole.ANON, expires_at)
        platform.leader.state.revoked[key_id(number)] = None
    async with platform.leads() as client:
        await _filled(client)
        waits, works = asyncio.get_running_loop().time, time.process_time
        began = waits(), works()
        async with platform.verifier() as book:
            await ready(book)
            assert book.is_revoked(key_id(49_999))
            assert (waits() - began[0] < 5, works() - began[1] < 5) == (True, True)
        assert key_publisher.LOOK_S + key_book.POLL_S <= WITHIN_S
