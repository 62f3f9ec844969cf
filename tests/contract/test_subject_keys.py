"""One suite for stores of subject keys, run on a NATS stream and in memory; and what the stream leaves on disk."""

import asyncio
import base64
from pathlib import Path

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.domain.erasure import token_of
from drover.embedded.nats import nats_server
from drover.eventlog.streams import StreamMisconfigured
from drover.eventlog.subject_keys import JetStreamSubjectKeys, MemorySubjectKeys, ensure_key_stream, stream_of
from drover.service.sealing import Ring
from drover.service.subject_sealing import make_key, rewrap

pytestmark = pytest.mark.req("SE-09")
OLD = {"k1": b"1" * 32}
RING = Ring(OLD)


@pytest.fixture
async def client(nats_url):
    async with connected(nats_url, "subject keys") as connection:
        yield connection


@pytest.fixture(params=["stream", "memory"])
async def store(request, client):
    if request.param == "memory":
        return MemorySubjectKeys()
    context = f"c{uuid4().hex[:12]}"
    await ensure_key_stream(client, context)
    return JetStreamSubjectKeys(client, context)


def key_of(subject, generation=0):
    return make_key(RING, "reminder", token_of("reminder", subject), generation)


async def test_a_key_is_read_as_it_was_created(store):
    kim, lee = key_of("kim"), key_of("lee")
    assert await store.create("p0", kim)
    assert await store.create("p0", lee)
    found = await store.read("p0", [kim.token, lee.token, key_of("nobody").token])
    assert {token: stored.key for token, stored in found.items()} == {kim.token: kim, lee.token: lee}
    assert (await store.read("p0", [lee.token]))[lee.token].key == lee


async def test_a_subject_has_one_key_in_each_partition(store):
    first, second = key_of("kim"), key_of("kim")
    assert await store.create("p0", first)
    assert not await store.create("p0", second)
    assert (await store.read("p0", [first.token]))[first.token].key == first
    assert await store.read("p1", [first.token]) == {}


async def test_a_destroyed_key_is_gone_and_another_one_can_take_its_place(store):
    kim, lee = key_of("kim"), key_of("lee")
    await store.create("p0", kim)
    await store.create("p0", lee)
    assert await store.destroy("p0", kim.token)
    assert await store.read("p0", [kim.token, lee.token]) == {
        lee.token: (await store.read("p0", [lee.token]))[lee.token]
    }
    assert not await store.destroy("p0", kim.token)
    again = key_of("kim", generation=1)
    assert await store.create("p0", again)
    assert (await store.read("p0", [kim.token]))[kim.token].key == again


async def test_another_wrap_replaces_a_key_at_its_revision_only(store):
    kim = key_of("kim")
    await store.create("p0", kim)
    stored = (await store.read("p0", [kim.token]))[kim.token]
    wrapped = rewrap(Ring({"k2": b"2" * 32} | OLD), "reminder", kim)
    assert await store.replace("p0", wrapped, stored.revision)
    assert not await store.replace("p0", kim, stored.revision)
    assert (await store.read("p0", [kim.token]))[kim.token].key == wrapped
    assert await store.destroy("p0", kim.token)
    assert await store.read("p0", [kim.token]) == {}


async def test_the_keys_of_a_partition_are_listed_page_by_page_and_each_once(store):
    keys = [key_of(name) for name in ("kim", "lee", "park")]
    for key in keys:
        await store.create("p0", key)
    await store.create("p1", key_of("choi"))
    wrapped = rewrap(Ring({"k2": b"2" * 32} | OLD), "reminder", keys[0])
    await store.replace("p0", wrapped, (await store.read("p0", [wrapped.token]))[wrapped.token].revision)
    first = await store.page("p0", 0, 2)
    rest = await store.page("p0", first[-1].revision, 2)
    assert [stored.key for stored in (*first, *rest)] == [keys[1], keys[2], wrapped]
    assert await store.page("p0", rest[-1].revision, 2) == []


async def test_a_thousand_keys_are_read_at_once(store):
    keys = [key_of(f"user {number}") for number in range(1000)]
    await asyncio.gather(*(store.create("p0", key) for key in keys))
    found = await store.read("p0", [key.token for key in keys])
    assert len(found) == len(keys)


@pytest.mark.req("SE-10")
async def test_a_wrap_that_is_stored_while_its_key_is_destroyed_is_destroyed_with_it(client, monkeypatch):
    context = f"c{uuid4().hex[:12]}"
    await ensure_key_stream(client, context)
    store, kim = JetStreamSubjectKeys(client, context), key_of("kim")
    await store.create("p0", kim)
    revision = (await store.read("p0", [kim.token]))[kim.token].revision
    wrapped = rewrap(Ring({"k2": b"2" * 32} | OLD), "reminder", kim)
    erase, stored = store._erase, []

    async def replaced_before(seq):
        if not stored:
            stored.append(await store._publish("p0", wrapped, revision))
        await erase(seq)

    monkeypatch.setattr(store, "_erase", replaced_before)
    assert await store.destroy("p0", kim.token)
    assert stored == [True]
    assert await store.read("p0", [kim.token]) == {}
    assert not await store.replace("p0", wrapped, revision)


@pytest.mark.parametrize("option", [{"max_msgs_per_subject": 1}, {"deny_delete": True}, {"max_age": 3600}])
async def test_a_stream_that_could_lose_keys_or_not_destroy_them_is_refused(client, option):
    context = f"c{uuid4().hex[:12]}"
    await ensure_key_stream(client, context)
    config = (await client.jetstream().stream_info(stream_of(context))).config
    await client.jetstream().delete_stream(stream_of(context))
    await client.jetstream().add_stream(config.evolve(**option))
    with pytest.raises(StreamMisconfigured):
        await ensure_key_stream(client, context)


async def test_no_wrap_of_a_destroyed_key_is_left_in_the_files_of_the_server(tmp_path):
    kim, lee = key_of("kim"), key_of("lee")
    wrapped = rewrap(Ring({"k2": b"2" * 32} | OLD), "reminder", kim)
    async with nats_server(tmp_path) as server, connected(server.url, "subject keys") as client:
        await ensure_key_stream(client, "reminder")
        store = JetStreamSubjectKeys(client, "reminder")
        await store.create("p0", kim)
        await store.create("p0", lee)
        assert _files_with(tmp_path, kim)
        await store.replace("p0", wrapped, 1)
        assert not _files_with(tmp_path, kim)
        assert _files_with(tmp_path, wrapped)
        await store.destroy("p0", kim.token)
        assert not _files_with(tmp_path, wrapped)
        assert _files_with(tmp_path, lee)
    assert not _files_with(tmp_path, wrapped)


@pytest.mark.control
async def test_a_message_that_is_removed_and_not_overwritten_stays_in_the_files(tmp_path):
    """The control of the test above: the files are searched in the right place."""
    kim, lee = key_of("kim"), key_of("lee")
    async with nats_server(tmp_path) as server, connected(server.url, "subject keys") as client:
        await ensure_key_stream(client, "reminder")
        store = JetStreamSubjectKeys(client, "reminder")
        await store.create("p0", kim)
        await store.create("p0", lee)
        request = f"$JS.API.STREAM.MSG.DELETE.{stream_of('reminder')}"
        await client.request(request, b'{"seq": 1, "no_erase": true}')
        assert not await store.read("p0", [kim.token])
        assert _files_with(tmp_path, kim)


def _files_with(folder: Path, key):
    """The files that contain the wrap of a key, as it is stored."""
    mark = base64.b64encode(key.wrap)
    return [path for path in folder.rglob("*") if path.is_file() and mark in path.read_bytes()]
