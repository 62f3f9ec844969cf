"""A commit has one time, whether it comes from a consumer or is asked for alone."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.msg import Msg

from drover.eventlog.stamp import delivery_of

SECOND_NS = 1_000_000_000
NOW_NS = 1_794_883_577 * SECOND_NS
YEAR_NS = 365 * 86_400 * SECOND_NS
SHORT = "$JS.ACK.FLEET.reader.1.7.7.{ns}.0"
LONG = "$JS.ACK._.ACCOUNT.FLEET.reader.1.7.7.{ns}.0.token"


def in_an_answer(ns: int) -> datetime:
    """The time of a message that was asked for alone: text, as nats-server writes it and msgspec reads it."""
    seconds, rest = divmod(ns, SECOND_NS)
    text = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
    return msgspec.json.decode(f'"{text}"', type=datetime)


@pytest.mark.parametrize("reply", [SHORT, LONG])
@given(ns=st.integers(NOW_NS, NOW_NS + 20 * YEAR_NS))
def test_a_time_is_the_same_to_the_microsecond_however_it_is_read(reply, ns):
    assert delivery_of(reply.format(ns=ns)).by_server == in_an_answer(ns)


@pytest.mark.parametrize("rest", [0, 499, 500, 501, 1_500, 2_500, 999_999_499, 999_999_500])
def test_it_is_rounded_and_not_cut(rest):
    assert delivery_of(SHORT.format(ns=NOW_NS + rest)).by_server == in_an_answer(NOW_NS + rest)


@pytest.mark.parametrize(
    "reply", ["$JS.ACK.FLEET.reader.1.7.5.{ns}.3", "$JS.ACK._.ACCOUNT.FLEET.reader.1.7.5.{ns}.3.token"]
)
def test_position_number_and_consumer_are_those_that_nats_py_reads(reply):
    text = reply.format(ns=NOW_NS)
    delivery, theirs = delivery_of(text), Msg.Metadata._from_reply(text)
    assert (delivery.consumer, delivery.pending) == (theirs.consumer, theirs.num_pending) == ("reader", 3)
    assert (delivery.seq, delivery.number) == (theirs.sequence.stream, theirs.sequence.consumer) == (7, 5)
