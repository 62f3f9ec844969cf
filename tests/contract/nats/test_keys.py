"""Keys of a bucket, as leases use them: revisions, time to live, markers, and who hears of changes."""

import nats.js.api as api
import pytest
from nats.js.errors import BucketNotFoundError
from uuid_utils import uuid4

from drover.eventlog.bucket import ensure_bucket
from drover.testing.waiting import eventually
from tests.contract.nats.conftest import Stream, refused


class Bucket(Stream):
    def subject(self, part):
        return f"$KV.{self.name.removeprefix('KV_')}.{part}"


@pytest.fixture
async def bucket(client):
    name = f"b{uuid4().hex[:12]}"
    await ensure_bucket(client, name)
    return Bucket(client, f"KV_{name}")


async def test_a_bucket_that_does_not_exist_is_not_found(client):
    with pytest.raises(BucketNotFoundError):
        await client.jetstream().key_value("nothing")


async def test_a_bucket_is_a_stream_that_keeps_one_message_for_each_key(bucket, client):
    await ensure_bucket(client, bucket.name.removeprefix("KV_"))
    info = await client.jetstream().stream_info(bucket.name)
    config = info.config
    assert (config.max_msgs_per_subject, config.discard, config.deny_delete) == (1, api.DiscardPolicy.NEW, True)
    assert (config.allow_msg_ttl, config.subject_delete_marker_ttl) == (True, 60)


async def test_a_key_is_created_once(bucket):
    assert await bucket.put("k", "mine", after=0) == 1
    with refused(10071, "wrong last sequence: 1"):
        await bucket.put("k", "yours", after=0)
    assert (await bucket.last("k")).text == "mine"


async def test_an_update_needs_the_last_revision_and_replaces_the_value(bucket):
    revision = await bucket.put("k", "one", after=0)
    await bucket.put("other", "x", after=0)
    assert await bucket.put("k", "two", after=revision) == 3
    assert (await bucket.last("k")).text == "two"
    assert (await bucket.state())["messages"] == 2
    with refused(10037, "no message found"):
        await bucket.get(seq=revision)


async def test_a_deleted_key_is_a_message_without_a_value_and_has_a_revision(bucket):
    await bucket.put("k", "one", after=0)
    assert await bucket.put("k", after=1, KV_Operation="DEL") == 2
    found = await bucket.last("k")
    assert (found.text, found.headers["KV-Operation"]) == ("", "DEL")
    with refused(10071, "wrong last sequence: 2"):
        await bucket.put("k", "two", after=0)
    assert await bucket.put("k", "two", after=2) == 3


async def test_subscribers_of_a_key_hear_of_its_deletion(bucket, client, inbox):
    await client.subscribe(bucket.subject("k"), cb=inbox.on_message)
    await bucket.put("k", "one", after=0)
    await bucket.put("k", after=1, KV_Operation="DEL")
    assert [(message.headers or {}).get("KV-Operation") for message in await inbox.has(2)] == [None, "DEL"]


async def lapsed(bucket, key="k"):
    async def has_marker():
        found = await bucket.last(key)
        return found if "Nats-Marker-Reason" in found.headers else None

    return await eventually(has_marker)


async def test_a_key_that_outlives_its_time_becomes_a_marker_with_a_revision(bucket):
    before = await bucket.put("k", "one", after=0, Nats_TTL="1s")
    written = (await bucket.last("k")).time
    marker = await lapsed(bucket)
    assert marker.text == ""
    assert marker.headers == {"Nats-Marker-Reason": "MaxAge", "Nats-TTL": "1m0s", "Nats-Rollup": "sub"}
    assert marker.seq == before + 1
    assert 1 <= (marker.time - written).total_seconds() < 5
    assert await bucket.put("k", "two", after=marker.seq) == marker.seq + 1


async def test_each_update_with_a_time_to_live_starts_it_again(bucket):
    await bucket.put("k", "one", after=0, Nats_TTL="1s")
    await bucket.put("other", "x", after=0, Nats_TTL="2s")
    await bucket.put("k", "two", after=1, Nats_TTL="60s")
    await lapsed(bucket, "other")
    assert (await bucket.last("k")).text == "two"


async def test_an_update_without_a_time_to_live_makes_a_key_stay(bucket):
    await bucket.put("k", "one", after=0, Nats_TTL="1s")
    await bucket.put("k", "two", after=1)
    await bucket.put("other", "x", after=0, Nats_TTL="2s")
    await lapsed(bucket, "other")
    assert (await bucket.last("k")).text == "two"


async def test_core_subscribers_do_not_hear_of_a_key_that_lapsed(bucket, client, inbox):
    """The reason why a standby polls beside its subscription."""
    await client.subscribe(bucket.subject("k"), cb=inbox.on_message)
    await bucket.put("k", "one", after=0, Nats_TTL="1s")
    marker = await lapsed(bucket)
    await bucket.put("k", "two", after=marker.seq)
    assert [message.data for message in await inbox.has(2)] == [b"one", b"two"]


@pytest.mark.parametrize("ttl", ["500ms", "soon"])
async def test_a_time_to_live_below_a_second_or_without_sense_is_refused(bucket, ttl):
    with refused(10165, "invalid per-message TTL"):
        await bucket.put("k", "one", after=0, Nats_TTL=ttl)


async def test_a_stream_that_does_not_allow_it_refuses_a_time_to_live(stream):
    with refused(10166, "per-message TTL is disabled"):
        await stream.put("a", Nats_TTL="1s")


async def test_a_marker_goes_after_its_own_time_and_leaves_nothing(client):
    stream = Stream(client, f"T{uuid4().hex[:12]}")
    await stream.create(max_msgs_per_subject=1, allow_msg_ttl=True, subject_delete_marker_ttl=10**9)
    assert (await stream.api("STREAM.INFO"))["config"]["allow_rollup_hdrs"]
    await stream.put("a", "one", Nats_TTL="1s")
    assert (await lapsed(stream, "a")).headers["Nats-TTL"] == "1s"

    async def state():
        found = await stream.bounds()
        return found if not found[2] else None

    assert await eventually(state) == (3, 2, 0)
    assert await stream.put("a", "two", after=0) == 3
