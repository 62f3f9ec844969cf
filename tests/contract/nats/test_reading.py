"""Single messages read from a stream."""

from datetime import datetime, timedelta

import msgspec
import pytest
from nats.js.errors import NotFoundError

from tests.contract.nats.conftest import refused


@pytest.fixture
async def filled(stream):
    for part, text in (("a", "one"), ("b", "two"), ("a", "three")):
        await stream.put(part, text, Colour=text)
    return stream


async def test_a_message_comes_back_with_subject_headers_and_data(filled):
    found = await filled.get(seq=2)
    assert (found.seq, found.subject, found.text, found.headers) == (2, filled.subject("b"), "two", {"Colour": "two"})


async def test_an_empty_message_has_neither_headers_nor_data(stream):
    await stream.put("a")
    found = (await stream.api("STREAM.MSG.GET", {"seq": 1}))["message"]
    assert found.keys() == {"subject", "seq", "time"}


async def test_the_time_of_a_message_is_the_servers(filled):
    now = msgspec.convert((await filled.api("STREAM.INFO"))["ts"], datetime)
    assert timedelta(0) <= now - (await filled.get(seq=3)).time < timedelta(seconds=30)


async def test_the_last_message_of_a_subject(filled):
    assert (await filled.last("a")).seq == 3
    assert (await filled.last("b")).seq == 2


async def test_the_last_message_of_a_pattern_is_the_last_of_all_its_subjects(filled):
    assert (await filled.last("*")).seq == 3


@pytest.mark.parametrize(("start", "found"), [(0, 2), (1, 2), (2, 2)])
async def test_the_next_message_of_a_subject_is_the_first_at_or_after_the_sequence(filled, start, found):
    assert (await filled.get(seq=start, next_by_subj=filled.subject("b"))).seq == found


@pytest.mark.parametrize(
    "question",
    [{"seq": 4}, {"last_by_subj": "none"}, {"seq": 3, "next_by_subj": "T.b"}, {"seq": 4, "next_by_subj": "*.*"}],
)
async def test_what_is_not_there_is_not_found(filled, question):
    with refused(10037, "no message found"):
        await filled.get(**question)


@pytest.mark.parametrize("question", [{}, {"seq": 0}])
async def test_a_question_without_a_sequence_or_subject_is_a_bad_request(filled, question):
    with refused(10003, "bad request"):
        await filled.get(**question)


async def test_a_stream_that_does_not_exist_is_not_found(client):
    with pytest.raises(NotFoundError) as refused:
        await client.jetstream().stream_info("NONE")
    assert (refused.value.err_code, refused.value.description) == (10059, "stream not found")
