"""Bodies: decoded strictly, refused with the field."""

from __future__ import annotations

import msgspec
import pytest

from drover.web.bodies import Body
from drover.web.errors import ApiError


class Thing(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    size: int = 1


BODY = Body(Thing)


def test_an_object_is_decoded():
    assert BODY.decode(b'{"name": "a"}') == Thing("a")
    assert BODY.decode_many(b'{"name": "a"}', count_max=2) == ([Thing("a")], False)
    assert BODY.decode_many(b' [{"name": "a"}, {"name": "b", "size": 2}]', count_max=2) == (
        [Thing("a"), Thing("b", 2)],
        True,
    )


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", None),
        (b"{", None),
        (b"{'name': 1}", None),
        (b"null", None),
        (b"5", None),
        (b'"x"', None),
        (b'{"name": "\xff"}', None),
        (b'{"name": "\\ud800"}', None),
        (b'{"name": NaN}', None),
        (b'{"size": 1}', "name"),
        (b'{"name": 1}', "name"),
        (b'{"name": null}', "name"),
        (b'{"name": "a", "size": "1"}', "size"),
        (b'{"name": "a", "size": 1.5}', "size"),
        (b'{"name": "a", "size": {"b": 1}}', "size"),
        (b'{"name": "a", "color": 1}', "color"),
        (b'{"name": "a\\u0000b"}', "name"),
        (b'{"name": "a", "size": 1e400}', None),
        (b'{"name": "a", "size": ' + b"9" * 6000 + b"}", None),
        (b'{"name": ' + b"[" * 100_000, None),
        (b'{"name": ' + b"[" * 400 + b"]" * 400 + b"}", "name"),
    ],
)
def test_any_other_body_is_a_validation_error_that_names_the_field(raw, field):
    for decode in (BODY.decode, lambda raw: BODY.decode_many(raw, count_max=2)):
        with pytest.raises(ApiError) as caught:
            decode(raw)
        assert (caught.value.status, caught.value.code) == (400, "VALIDATION_ERROR")
        assert (caught.value.details or {}).get("field") == field
        caught.value.response()


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b'[{"name": "a"}, 5]', "[1]"),
        (b'[{"name": "a"}, {"name": 5}]', "[1].name"),
        (b'[{"name": "a"}, {}]', "[1].name"),
        (b'[{"name": "a"}, {"name": "\\u0000"}]', "[1].name"),
        (b'[{"name": "a", "\\u0000": 1}]', "[0].\\u0000"),
    ],
)
def test_in_an_array_the_field_says_which_object(raw, field):
    with pytest.raises(ApiError) as caught:
        BODY.decode_many(raw, count_max=2)
    assert caught.value.status == 400
    assert caught.value.details["field"] == field


def test_too_many_objects_are_too_large():
    with pytest.raises(ApiError) as caught:
        BODY.decode_many(b"[{}, {}, {}]", count_max=2)
    assert caught.value.status == 413


def test_an_escaped_backslash_before_u0000_is_no_nul():
    assert BODY.decode(b'{"name": "\\\\u0000"}') == Thing("\\u0000")
