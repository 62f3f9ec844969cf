"""The limits of the logs, changed while they are in use."""

import pytest
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Commit, LogFull
from drover.eventlog.quotas import LogSize, QuotaRefused, limit_log, log_size, stop_growth
from drover.eventlog.streams import ensure_stream
from tests.contract.nats.conftest import restarted

pytestmark = pytest.mark.req("YR-12")


def commit(size=100):
    return Commit(str(uuid4()), 1, b"x" * size)


@pytest.fixture
async def log(client):
    (partition,) = await ensure_stream(client, f"c{uuid4().hex[:12]}", max_bytes=100_000)
    return JetStreamLog(client, partition)


async def test_a_new_log_has_the_limit_that_was_asked_for(client, log):
    assert await log_size(client, log.partition.context) == LogSize(0, 100_000)


async def test_a_log_that_is_stopped_refuses_and_is_released_again(client, log):
    context = log.partition.context
    last = await log.append(commit(), 0)
    before = await log_size(client, context)
    await stop_growth(client, context, spare=0)
    assert (await log_size(client, context)).share == 1
    with pytest.raises(LogFull):
        await log.append(commit(1), last)
    await limit_log(client, context, None)
    assert await log_size(client, context) == LogSize(before.bytes, None)
    assert await log.append(commit(), last) == last + 1


async def test_a_log_with_spare_bytes_goes_on_for_a_while_and_gets_them_once(client, log):
    context = log.partition.context
    last = await log.append(commit(), 0)
    await stop_growth(client, context, spare=1000)
    last = await log.append(commit(500), last)
    await stop_growth(client, context, spare=1000)
    with pytest.raises(LogFull):
        await log.append(commit(500), last)


async def test_an_empty_log_can_be_stopped(client, log):
    await stop_growth(client, log.partition.context, spare=0)
    with pytest.raises(LogFull):
        await log.append(commit(), 0)


async def test_a_limit_below_the_size_removes_nothing_also_after_a_restart(own_server):
    """Control of the guard: it lowers limits of logs that are in use."""
    async with connected(own_server.url, "contract") as client:
        (partition,) = await ensure_stream(client, "quota")
        log = JetStreamLog(client, partition)
        last = 0
        for _ in range(20):
            last = await log.append(commit(), last)
        await limit_log(client, "quota", 1)
        await restarted(own_server, client)
        assert (await log.last()).seq == last
        assert (await log.get(1)) is not None


async def test_a_log_that_does_not_exist_has_no_limit_to_change(client):
    with pytest.raises(QuotaRefused, match="stream not found"):
        await limit_log(client, "nothing", 1)
