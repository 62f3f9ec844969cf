"""Ids of streams, written and read."""

from __future__ import annotations

import pytest

from drover.api.live.place import SEQ_MAX, Place, format_id, format_position, parse_id


def test_an_id_says_where_the_stream_is_in_each_context():
    places = {"fleet": Place(12, 3), "render": Place(4, 0)}
    assert format_id(places) == "fleet=12.3,render=4.0"
    assert parse_id("fleet=12.3,render=4.0") == places
    assert format_position(places) == "fleet=12,render=4"


def test_the_place_before_everything_can_be_named():
    assert parse_id("fleet=0.0") == {"fleet": Place(0, 0)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "fleet",
        "fleet=",
        "fleet=12",
        "fleet=12.",
        "fleet=.3",
        "fleet=-1.0",
        "fleet=1.0,",
        "fleet=1.0;render=2.0",
        "fleet=１２.3",
        "Fleet=1.0",
        "fleet=1.0,fleet=2.0",
        f"fleet={SEQ_MAX + 1}.0",
        "fleet=1.1234567",
        "fleet=1.0\nfleet=2.0",
        "x" * 600,
    ],
)
def test_what_is_no_id_is_refused_in_words(text):
    with pytest.raises(ValueError) as caught:
        parse_id(text)
    assert str(caught.value)
