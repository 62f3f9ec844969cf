"""A log with a bottom: what readers do when commits have left the stream."""

import asyncio

import pytest
from uuid_utils import uuid4

from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import ALL, BelowBottom, Commit, Partition
from drover.eventlog.memory import MemoryLog
from drover.eventlog.stored import EXPECTED_HEADER, PREVIOUS_HEADER
from drover.eventlog.streams import ensure_stream
from tests.contract.nats.conftest import Stream

pytestmark = pytest.mark.req("YR-02")


def commit(text="{}"):
    return Commit(str(uuid4()), 1, text.encode() + b"\n")


class Context:
    """The log of a context with two partitions, filled in turns: `a` has the odd sequences, `b` the even ones."""

    def __init__(self, client):
        self.client = client
        self.name = f"c{uuid4().hex[:12]}"
        self.logs = {name: JetStreamLog(client, Partition(self.name, name)) for name in (ALL, "a", "b")}

    async def fill(self, count):
        await ensure_stream(self.client, self.name)
        ends = {"a": 0, "b": 0}
        for number in range(count):
            name = "ab"[number % 2]
            ends[name] = await self.logs[name].append(commit(f'"{number + 1}"'), ends[name])
        return self

    async def purge(self, name, below):
        await self.client.jsm().purge_stream(self.name.upper(), subject=f"evt.{self.name}.{name}", seq=below)

    async def foreign(self, name, **headers):
        """Publish a message that no writer wrote."""
        stream = Stream(self.client, self.name.upper())
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return (await stream.request(f"evt.{self.name}.{name}", b"?", named or None))["seq"]


@pytest.fixture
async def context(client):
    return await Context(client).fill(10)


async def read(log, after, count):
    found = []
    async with log.read(after) as reader:
        while len(found) < count:
            found += [one.seq for one in await reader.next()]
    return found


async def read_on(reader, seen):
    while True:
        seen += [one.seq for one in await reader.next()]


async def test_a_stored_commit_names_the_commit_before_it_in_its_partition(context):
    stored = await Stream(context.client, context.name.upper()).get(seq=5)
    assert stored.headers[EXPECTED_HEADER] == "3"


@pytest.mark.parametrize(("name", "after", "expected"), [("a", 5, [7, 9]), ("b", 5, [6, 8, 10]), ("b", 4, [6, 8, 10])])
async def test_a_reader_that_begins_at_the_bottom_reads_all(context, name, after, expected):
    await context.purge("a", 7)
    await context.purge("b", 6)
    assert await read(context.logs[name], after, len(expected)) == expected


@pytest.mark.parametrize("after", [0, 1, 4])
async def test_a_reader_that_begins_below_the_bottom_is_told(context, after):
    await context.purge("a", 7)
    with pytest.raises(BelowBottom, match="DROVER_ARCHIVE") as caught:
        await read(context.logs["a"], after, 1)
    assert (caught.value.partition, caught.value.after) == (context.logs["a"].partition, after)


async def test_a_purge_under_a_reader_is_noticed_and_what_it_had_is_returned_first(client):
    context = await Context(client).fill(1600)
    async with context.logs["a"].read(0) as reader:
        seen = [one.seq for one in await reader.next()]
        await context.purge("a", 1599)
        with pytest.raises(BelowBottom) as caught:
            await read_on(reader, seen)
    assert seen == [*range(1, seen[-1] + 1, 2)], "in order and without gaps"
    assert caught.value.after == seen[-1] < 1599


async def test_a_reader_of_all_partitions_notices_a_hole_of_one_of_them(context):
    await context.purge("a", 7)
    with pytest.raises(BelowBottom):
        await read(context.logs[ALL], 0, 1)
    with pytest.raises(BelowBottom):
        await read(context.logs[ALL], 3, 3)
    assert await read(context.logs[ALL], 5, 5) == [6, 7, 8, 9, 10]


async def test_a_reader_of_a_purged_log_waits_for_new_commits(context):
    await context.purge("a", 9)
    async with context.logs["a"].read(9) as reader:
        waiting = asyncio.create_task(reader.next())
        seq = await context.logs["a"].append(commit(), 9)
        assert [one.seq for one in await waiting] == [seq]


async def test_a_foreign_message_is_read_if_nothing_is_missing_before_it(context):
    seq = await context.foreign("a")
    await context.purge("a", 9)
    assert await read(context.logs["a"], 9, 1) == [seq]
    assert await read(context.logs["b"], 0, 5) == [2, 4, 6, 8, 10]


async def test_a_foreign_message_does_not_hide_that_commits_are_missing_before_it(context):
    seq = await context.foreign("a")
    await context.logs["a"].append(commit(), seq)
    await context.purge("a", seq)
    with pytest.raises(BelowBottom):
        await read(context.logs["a"], 5, 1)


async def test_commits_that_do_not_name_their_predecessor_are_read_if_nothing_was_purged(client):
    context = Context(client)
    await ensure_stream(client, context.name)
    for name in "abab":
        await context.foreign(name, Drover_Commit=str(uuid4()))
    assert await read(context.logs["b"], 0, 2) == [2, 4]


async def test_a_restored_commit_names_its_predecessor_in_a_header_of_its_own(context):
    await context.foreign("a", Drover_Commit=str(uuid4()), **{PREVIOUS_HEADER.replace("-", "_"): "9"})
    await context.purge("a", 11)
    assert await read(context.logs["a"], 9, 1) == [11]
    with pytest.raises(BelowBottom):
        await read(context.logs["a"], 7, 1)


async def test_a_commit_below_the_bottom_is_not_mistaken_for_one_that_never_was(context):
    await context.purge("a", 7)
    with pytest.raises(BelowBottom):
        await context.logs["a"].get(5)
    assert (await context.logs["a"].get(6)).seq == 6, "of another partition, and still there"
    assert await context.logs["a"].get(11) is None
    assert await context.logs["a"].get(0) is None, "before the first commit there is nothing"


async def test_the_log_in_memory_has_a_bottom_too():
    log = MemoryLog(Partition("contract"))
    for seq in range(10):
        await log.append(commit(), seq)
    log.purge(below=7)
    with pytest.raises(BelowBottom):
        await read(log, 5, 1)
    with pytest.raises(BelowBottom):
        await log.get(6)
    assert await read(log, 6, 4) == [7, 8, 9, 10]
    assert ((await log.get(7)).seq, (await log.last()).seq, await log.get(11)) == (7, 10, None)
    assert await log.append(commit(), 10) == 11


async def test_a_purge_under_a_reader_of_the_log_in_memory_is_noticed():
    log = MemoryLog(Partition("contract"))
    for seq in range(10):
        await log.append(commit(), seq)
    async with log.read(2) as reader:
        log.purge(below=9)
        with pytest.raises(BelowBottom):
            await reader.next()
