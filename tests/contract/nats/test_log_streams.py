"""The streams of the log: how they are made, and which ones are refused at the start."""

import pytest
from uuid_utils import uuid4

from drover.eventlog.bucket import ensure_bucket
from drover.eventlog.streams import PurgeDenied, StreamMisconfigured, TooFewReplicas, ensure_stream
from tests.contract.nats.conftest import Stream

pytestmark = pytest.mark.req("YR-01")


@pytest.fixture
def context():
    return f"c{uuid4().hex[:12]}"


@pytest.fixture
def stream(client, context):
    return Stream(client, context.upper())


async def changed(client, context, stream, **options):
    """Make the stream of a context with other options than Drover's."""
    await ensure_stream(client, f"{context}_model")
    config = (await Stream(client, f"{context}_model".upper()).api("STREAM.INFO"))["config"]
    await stream.api("STREAM.CREATE", {**config, "name": stream.name, "subjects": [f"evt.{context}.*"], **options})


async def test_a_new_stream_is_compressed_and_can_be_purged(client, context, stream):
    await ensure_stream(client, context, purges=True)
    config = (await stream.api("STREAM.INFO"))["config"]
    assert (config["compression"], config["deny_purge"], config["deny_delete"]) == ("s2", False, True)


async def test_a_stream_from_before_is_accepted(client, context, stream):
    await changed(client, context, stream, compression="none", deny_purge=True)
    assert [str(one) for one in await ensure_stream(client, context)] == [f"{context}/main"]


async def test_a_stream_from_before_cannot_be_kept_short(client, context, stream):
    await changed(client, context, stream, deny_purge=True)
    with pytest.raises(PurgeDenied, match="drover log migrate"):
        await ensure_stream(client, context, purges=True)


async def test_a_stream_with_a_quota_that_refuses_new_messages_is_accepted(client, context, stream):
    await changed(client, context, stream, max_bytes=1_000_000)
    assert await ensure_stream(client, context)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("discard", "old"),
        ("max_msgs", 10),
        ("max_age", 3_600_000_000_000),
        ("deny_delete", False),
        ("allow_rollup_hdrs", True),
        ("allow_msg_ttl", True),
    ],
)
async def test_a_stream_that_could_lose_events_is_refused(client, context, stream, option, value):
    await changed(client, context, stream, **{option: value})
    with pytest.raises(StreamMisconfigured) as caught:
        await ensure_stream(client, context)
    assert list(caught.value.wrong) == [option]


async def test_a_stream_with_fewer_copies_than_configured_is_refused(client, context):
    await ensure_stream(client, context)
    with pytest.raises(TooFewReplicas, match="drover log replicas 3"):
        await ensure_stream(client, context, replicas=3)


async def test_a_bucket_with_fewer_copies_than_configured_is_refused(client, context):
    await ensure_bucket(client, context)
    await ensure_bucket(client, context)
    with pytest.raises(TooFewReplicas, match=f"KV_{context}"):
        await ensure_bucket(client, context, replicas=3)
