"""Personal data is sealed with the key of its subject, and that key with the ring of its context."""

import pytest

from drover.domain.erasure import KeyRef, parse_sealed, token_of
from drover.service.sealing import Ring, SealDamaged, UnknownSealingKey
from drover.service.subject_sealing import make_key, parse_or_raise, rewrap, unwrap
from tests.subject_keys import sealed_bytes_in

pytestmark = pytest.mark.req("SE-09")
OLD, NEW = {"k1": b"1" * 32}, {"k2": b"2" * 32}
RING = Ring(OLD)
TOKEN = token_of("reminder", "kim")


def a_key(ring=RING, generation=0):
    return unwrap(ring, "reminder", "p0", make_key(ring, "reminder", TOKEN, generation))


@pytest.mark.parametrize("plain", [b"", b"Take your pills", "약".encode() * 1000])
def test_what_is_sealed_is_opened_with_the_same_key(plain):
    key = a_key()
    text = key.seal(plain, purpose="title")
    assert parse_or_raise(text).ref == KeyRef("p0", TOKEN, 0)
    assert key.open(parse_or_raise(text), purpose="title") == plain


def test_a_long_text_is_compressed_before_it_is_encrypted():
    assert len(a_key().seal(b"again and again " * 500, purpose="body")) < 400


def test_the_same_text_is_sealed_differently_each_time_and_shows_nothing_of_itself():
    key = a_key()
    texts = {key.seal(b"Take your pills", purpose="title") for _ in range(10)}
    assert len(texts) == 10
    contents = [content for text in texts for content in sealed_bytes_in(text)]
    assert len(contents) == 10
    assert not any(b"pills" in content for content in contents)


def test_another_key_purpose_or_content_does_not_open_it():
    key = a_key()
    sealed = parse_or_raise(key.seal(b"Take your pills", purpose="title"))
    with pytest.raises(SealDamaged):
        a_key().open(sealed, purpose="title")
    with pytest.raises(SealDamaged):
        key.open(sealed, purpose="body")
    changed = "A" if sealed.payload[20] != "A" else "B"
    with pytest.raises(SealDamaged):
        key.open(type(sealed)(sealed.ref, sealed.payload[:20] + changed + sealed.payload[21:]), purpose="title")
    with pytest.raises(SealDamaged):
        key.open(type(sealed)(sealed.ref, "AAAA"), purpose="title")


def test_a_stored_key_belongs_to_its_context_subject_and_generation():
    wrapped = make_key(RING, "reminder", TOKEN, 0)
    for context, changed in (
        ("render", wrapped),
        ("reminder", type(wrapped)(token_of("reminder", "lee"), 0, wrapped.kid, wrapped.wrap)),
        ("reminder", type(wrapped)(TOKEN, 1, wrapped.kid, wrapped.wrap)),
    ):
        with pytest.raises(SealDamaged):
            unwrap(RING, context, "p0", changed)


@pytest.mark.req("SE-10")
def test_a_key_that_is_wrapped_anew_opens_what_it_sealed_and_no_longer_needs_the_old_ring():
    wrapped = make_key(RING, "reminder", TOKEN, 0)
    text = unwrap(RING, "reminder", "p0", wrapped).seal(b"Take your pills", purpose="title")
    anew = rewrap(Ring(NEW | OLD), "reminder", wrapped)
    assert anew.kid == "k2"
    key = unwrap(Ring(NEW), "reminder", "p0", anew)
    assert key.open(parse_or_raise(text), purpose="title") == b"Take your pills"
    with pytest.raises(UnknownSealingKey):
        unwrap(Ring(NEW), "reminder", "p0", wrapped)


def test_a_text_of_another_kind_is_not_opened():
    assert parse_sealed("Take your pills") is None
    with pytest.raises(SealDamaged):
        parse_or_raise("Take your pills")
