"""Commits as text: what comes back is what went in, or nothing comes back."""

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.archive.chain import Chain
from drover.archive.errors import ChainBroken, TextDamaged
from drover.archive.text import End, Head, Placed, Text, encode_commit, encode_end, encode_head
from drover.eventlog.log import StoredCommit

from .conftest import Stream


def written(stream, after=0):
    """A whole text, as a list of lines."""
    placed = stream.placed
    events = sum(one.commit.payload.count(b"\n") for one in placed)
    text = encode_head(Head(stream.context, list(stream.partitions), after))
    text += b"".join(encode_commit(stream.context, one) for one in placed)
    text += encode_end(End(len(placed), events, placed[-1].commit.seq if placed else after))
    return text.splitlines(keepends=True)


def read(lines):
    return list(Text(iter(lines)).commits())


@pytest.mark.req("EV-06")
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**40),
            st.datetimes(timezones=st.just(UTC)),
            st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8)), min_size=1, max_size=3),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_every_byte_and_every_time_comes_back(drawn):
    stream = Stream("p0", "p1")
    for seq, (epoch, stored_at, events, ends_its_line) in enumerate(drawn, 1):
        payload = msgspec.json.Encoder().encode_lines(events)
        payload = payload if ends_its_line else payload[:-1]
        stream.placed.append(Placed(f"p{seq % 2}", StoredCommit(seq, f"id-{seq}", epoch, stored_at, payload)))
    text = encode_head(Head("fleet", ["p0", "p1"], 0))
    text += b"".join(encode_commit("fleet", one) for one in stream.placed)
    text += encode_end(End(len(drawn), sum(len(events) for _, _, events, _ in drawn), len(drawn)))
    assert read(text.splitlines(keepends=True)) == stream.placed


@pytest.mark.req("EV-06")
@given(st.data())
def test_a_byte_that_was_changed_is_found_or_made_no_difference(data):
    stream = Stream("p0", "p1").grown(4)
    text = bytearray(b"".join(written(stream)))
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] = data.draw(st.integers(0, 255))
    try:
        found = read(bytes(text).splitlines(keepends=True))
    except TextDamaged:
        return
    assert found == stream.placed


@given(st.data())
def test_a_text_that_was_cut_off_anywhere_is_not_taken_for_whole(data):
    text = b"".join(written(Stream().grown(3)))
    cut = text[: data.draw(st.integers(0, len(text) - 2))]
    with pytest.raises(TextDamaged):
        read(cut.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda lines: lines[1:], "does not begin with the line"),
        (lambda lines: [], "the file is empty"),
        (lambda lines: lines[:-1], "cut off"),
        (lambda lines: [*lines[:2], *lines[3:]], "out of place"),
        (lambda lines: [*lines[:2], lines[3], *lines[4:]], "out of place"),
        (lambda lines: [*lines, lines[-1]], "there is more text after"),
        (lambda lines: [*lines[:1], b"\n", *lines[1:]], "cannot be read"),
        (lambda lines: [lines[0].replace(b'"form":1', b'"form":9'), *lines[1:]], "format 9"),
        (lambda lines: [lines[0].replace(b"fleet", b"fleat"), *lines[1:]], "not in this log"),
        (lambda lines: [lines[0].replace(b"fleet", b"a.>"), *lines[1:]], "is not a log of Drover"),
        (lambda lines: [lines[0].replace(b'["main"]', b'["*"]'), *lines[1:]], "is not a log of Drover"),
        (lambda lines: [lines[0].replace(b'["main"]', b"[]"), *lines[1:]], "is not a log of Drover"),
        (lambda lines: [lines[0], b'{"context":"fleet"}\n', *lines[1:]], "it has no event"),
        (lambda lines: [lines[0], b"x" * 600_000, *lines[1:]], "longer than"),
    ],
)
def test_what_is_wrong_is_said(spoil, says):
    stream = Stream().commit("a", "b", "c").commit("d")
    with pytest.raises(TextDamaged, match=says):
        read(spoil(written(stream)))


def chained(stream, after=0, known=None):
    chain = Chain(after, known)
    for placed in stream.placed[after:]:
        chain.take(placed.partition, placed.commit)
    return chain


def test_a_chain_counts_what_came_by():
    chain = chained(Stream("p0", "p1").grown(5))
    assert (chain.seq, chain.commits, chain.events) == (5, 5, 9)
    assert chain.ordinals == {"p0": (1, 6), "p1": (1, 3)}


@pytest.mark.req("EV-06")
@pytest.mark.parametrize("missing", range(4))
def test_a_commit_that_is_missing_is_a_gap_wherever_it_was(missing):
    stream = Stream("p0", "p1").grown(5)
    del stream.placed[missing]
    with pytest.raises(ChainBroken, match="comes right after"):
        chained(stream)


def test_events_that_are_missing_inside_commits_are_a_gap():
    stream = Stream().grown(2)
    commit = stream.placed[1].commit
    stream.placed[1] = Placed(
        "main", StoredCommit(2, commit.id, commit.epoch, commit.stored_at, commit.payload.replace(b'"n":2', b'"n":3'))
    )
    with pytest.raises(ChainBroken, match="event 3 of main comes right after event 1"):
        chained(stream)


def test_time_does_not_go_back_within_a_partition():
    stream = Stream().grown(2)
    commit = stream.placed[1].commit
    earlier = commit.payload.replace(b"2026-01-31", b"2026-01-30")
    stream.placed[1] = Placed("main", StoredCommit(2, commit.id, 1, datetime.now(UTC), earlier))
    with pytest.raises(ChainBroken, match="older"):
        chained(stream)


def test_a_chain_that_goes_on_knows_what_came_before():
    stream = Stream().grown(6)
    known = {"main": chained(Stream().grown(3)).ordinals["main"][1]}
    assert chained(stream, after=3, known=known).seq == 6
    with pytest.raises(ChainBroken):
        chained(stream, after=3, known={"main": known["main"] - 1})


@pytest.mark.req("EV-06")
def test_a_commit_without_end_is_not_gathered():
    (line,) = written(Stream().commit("x" * 1_000))[1:-1]

    def endless():
        yield encode_head(Head("fleet", ["main"], 0))
        for number in range(1_000_000):
            fields = msgspec.json.decode(line) | {"line": number, "of": 1_000_000}
            yield msgspec.json.encode(fields)

    with pytest.raises(TextDamaged, match="larger than a commit can be"):
        read(endless())
