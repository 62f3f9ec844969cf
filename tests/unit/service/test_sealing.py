"""Sealing: what it hides, where it opens, how keys are changed, what it says when it cannot."""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.service.sealing import SealDamaged, Sealer, SealingKeysUnusable, UnknownSealingKey

OLD = base64.b64encode(b"o" * 32).decode()
NEW = base64.b64encode(b"n" * 32).decode()
WHERE = {"context": "identity", "subject": "account-1"}


def sealer(*entries: str) -> Sealer:
    return Sealer.from_settings(entries or (f"old:{OLD}",))


@given(st.binary(max_size=2000), st.text(), st.text())
def test_what_was_sealed_opens_where_it_belongs(plaintext, context, subject):
    ring = sealer()
    sealed = ring.seal(plaintext, context=context, subject=subject)
    assert ring.open(sealed, context=context, subject=subject) == plaintext


def test_the_text_is_compact_json_with_the_five_parts():
    sealed = sealer().seal(b"a@b.c", **WHERE)
    assert list(msgspec.json.decode(sealed)) == ["v", "kid", "wrap", "nonce", "ct"]
    assert " " not in sealed
    assert msgspec.json.decode(sealed)["kid"] == "old"


@pytest.mark.req("SY-15")
def test_the_text_shows_nothing_of_what_it_holds_and_no_two_are_alike():
    ring = sealer()
    first, second = ring.seal(b"kim@example.com", **WHERE), ring.seal(b"kim@example.com", **WHERE)
    assert msgspec.json.decode(first)["ct"] != msgspec.json.decode(second)["ct"]
    assert "kim" not in first
    assert base64.b64encode(b"kim").decode() not in first


@pytest.mark.parametrize("elsewhere", [{"context": "render"}, {"subject": "account-2"}])
def test_a_record_that_was_moved_elsewhere_does_not_open(elsewhere):
    ring = sealer()
    sealed = ring.seal(b"secret", **WHERE)
    with pytest.raises(SealDamaged):
        ring.open(sealed, **(WHERE | elsewhere))
    with pytest.raises(SealDamaged):
        ring.rewrap(sealed, **(WHERE | elsewhere))


def test_context_and_subject_cannot_be_split_differently():
    ring = sealer()
    sealed = ring.seal(b"secret", context="ab", subject="c")
    with pytest.raises(SealDamaged):
        ring.open(sealed, context="a", subject="bc")


@given(st.data())
def test_one_changed_bit_anywhere_is_noticed(data):
    ring = sealer()
    parts = msgspec.json.decode(ring.seal(b"secret", **WHERE))
    name = data.draw(st.sampled_from(["wrap", "nonce", "ct"]))
    raw = bytearray(base64.b64decode(parts[name]))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    parts[name] = base64.b64encode(raw).decode()
    with pytest.raises(SealDamaged):
        ring.open(msgspec.json.encode(parts).decode(), **WHERE)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "null", "not json", "\ud800", '{"v":2,"kid":"old","wrap":"","nonce":"","ct":""}', "[" * 100_000],
)
def test_what_is_no_sealed_text_is_damaged_and_nothing_worse(text):
    with pytest.raises(SealDamaged):
        sealer().open(text, **WHERE)


def test_parts_cut_short_are_damaged():
    ring = sealer()
    parts = msgspec.json.decode(ring.seal(b"secret", **WHERE))
    for name in ("wrap", "nonce", "ct"):
        with pytest.raises(SealDamaged):
            ring.open(msgspec.json.encode(parts | {name: ""}).decode(), **WHERE)


def test_rotation_the_first_key_seals_and_the_old_one_still_opens():
    sealed = sealer(f"old:{OLD}").seal(b"secret", **WHERE)
    both = sealer(f"new:{NEW}", f"old:{OLD}")
    assert both.open(sealed, **WHERE) == b"secret"
    assert msgspec.json.decode(both.seal(b"x", **WHERE))["kid"] == "new"


def test_rewrapped_it_opens_without_the_old_key_and_its_content_is_untouched():
    sealed = sealer(f"old:{OLD}").seal(b"secret", **WHERE)
    moved = sealer(f"new:{NEW}", f"old:{OLD}").rewrap(sealed, **WHERE)
    assert msgspec.json.decode(moved)["kid"] == "new"
    assert msgspec.json.decode(moved)["ct"] == msgspec.json.decode(sealed)["ct"]
    assert sealer(f"new:{NEW}").open(moved, **WHERE) == b"secret"


def test_rewrapping_what_is_current_changes_nothing():
    ring = sealer()
    sealed = ring.seal(b"secret", **WHERE)
    assert ring.rewrap(sealed, **WHERE) == sealed


def test_a_key_that_was_taken_away_is_named():
    sealed = sealer(f"old:{OLD}").seal(b"secret", **WHERE)
    with pytest.raises(UnknownSealingKey) as caught:
        sealer(f"new:{NEW}").open(sealed, **WHERE)
    assert caught.value.kid == "old"
    with pytest.raises(UnknownSealingKey):
        sealer(f"new:{NEW}").rewrap(sealed, **WHERE)


def test_another_key_under_the_same_name_opens_nothing():
    sealed = sealer(f"old:{OLD}").seal(b"secret", **WHERE)
    with pytest.raises(SealDamaged, match="not the key it was"):
        sealer(f"old:{NEW}").open(sealed, **WHERE)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ((), "no key"),
        ((OLD,), "has no id"),
        (("k1:c2hvcnQ=",), "has 5 bytes, not 32"),
        (("k1:***",), "not base64"),
        ((f"k1:{OLD}", f"k1:{NEW}"), "twice"),
        ((f"a b:{OLD}",), "letters, digits"),
    ],
)
def test_a_ring_that_cannot_be_used_says_why_and_shows_no_key(keys, problem):
    with pytest.raises(SealingKeysUnusable, match=problem) as caught:
        Sealer.from_settings(keys)
    assert OLD not in str(caught.value)
    assert "openssl rand" in str(caught.value)


def test_keys_in_the_url_alphabet_are_taken_too():
    raw = b"\xfb\xff" * 16
    one = sealer(f"k:{base64.b64encode(raw).decode()}").seal(b"x", **WHERE)
    assert sealer(f"k:{base64.urlsafe_b64encode(raw).decode().rstrip('=')}").open(one, **WHERE) == b"x"
