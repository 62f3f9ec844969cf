"""What purges remove, and what they leave for writers and readers."""

import pytest

from tests.contract.nats.conftest import refused


@pytest.fixture
async def filled(stream):
    for part in "ababa":
        await stream.put(part)
    return stream


async def seqs(stream):
    """Which messages are left, found as a reader of one message after the other finds them."""
    found, (_, _, count) = [0], await stream.bounds()
    for _ in range(count):
        found.append((await stream.get(seq=found[-1] + 1, next_by_subj=stream.subject("*"))).seq)
    return found[1:]


async def test_a_purge_below_a_sequence_keeps_that_sequence(filled):
    assert await filled.purge(seq=3) == 2
    assert await seqs(filled) == [3, 4, 5]
    assert await filled.bounds() == (3, 5, 3)


async def test_a_purge_of_a_subject_below_a_sequence_leaves_the_other_subjects(filled):
    assert await filled.purge("a", seq=4) == 2
    assert await seqs(filled) == [2, 4, 5]
    assert await filled.bounds() == (2, 5, 3)


async def test_a_purge_of_a_subject_can_keep_its_last_messages(filled):
    assert await filled.purge("a", keep=1) == 2
    assert await seqs(filled) == [2, 4, 5]


async def test_a_purge_that_keeps_more_than_there_is_removes_nothing(filled):
    assert await filled.purge("a", keep=9) == 0


async def test_a_purge_takes_either_a_sequence_or_a_number_to_keep(filled):
    with refused(10003, "bad request"):
        await filled.purge("a", seq=3, keep=1)


async def test_a_purge_of_a_pattern_takes_all_its_subjects(filled):
    assert await filled.purge("*", seq=5) == 4
    assert await seqs(filled) == [5]


async def test_after_a_purge_of_everything_sequences_go_on(filled):
    assert await filled.purge() == 5
    assert await filled.bounds() == (6, 5, 0)
    assert await filled.put("a", Nats_Expected_Last_Sequence=5) == 6


async def test_a_purge_that_leaves_the_last_message_of_a_subject_leaves_its_sequence(filled):
    await filled.purge("a", seq=5)
    assert await filled.put("a", after=5) == 6


@pytest.mark.req("YR-01")
async def test_after_a_purge_of_the_last_message_of_a_subject_its_last_sequence_is_zero(filled):
    """The reason why a partition's last commit is never purged: a writer would start from nothing."""
    await filled.purge("a")
    with refused(10071, "wrong last sequence: 0"):
        await filled.put("a", after=5)
    assert await filled.put("a", after=0) == 6


async def test_a_stream_that_denies_purges_refuses_them(filled):
    await filled.update(deny_purge=True)
    with refused(10110, "stream purge not permitted"):
        await filled.purge("a", seq=3)
    assert await seqs(filled) == [1, 2, 3, 4, 5]


async def test_a_stream_that_denies_deletes_refuses_to_delete_a_message(filled):
    await filled.update(deny_delete=True)
    with refused(10057, "message delete not permitted"):
        await filled.api("STREAM.MSG.DELETE", {"seq": 1})


async def test_chunks_that_are_purged_under_a_reader_are_not_found(filled):
    """A snapshot that is replaced while it is read: the reader notices, and gets no chunk of another one."""
    assert (await filled.last("b")).seq == 4
    await filled.put("manifest")
    await filled.purge("b")
    with refused(10037, "no message found"):
        await filled.last("b")
