"""How sealed texts name the keys of their subjects, and which subjects were erased."""

import pytest

from drover.domain.erasure import (
    KeyRef,
    SealedText,
    is_erased,
    names_erased_key,
    note_erased,
    parse_sealed,
    token_of,
)

pytestmark = pytest.mark.req("SE-09")
TOKEN = token_of("reminder", "kim")
TEXT = SealedText(KeyRef("p3", TOKEN, 2), "AbC_-9")


def test_a_sealed_text_names_its_key():
    assert parse_sealed(str(TEXT)) == TEXT
    assert str(TEXT) == f"sealed:2:p3.{TOKEN}.2:AbC_-9"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Buy milk",
        '{"v":1,"kid":"k1"}',
        "sealed:2:",
        f"sealed:2:p3.{TOKEN}.2:",
        f"sealed:2:p3.{TOKEN}.2:AbC_-9\n",
        f"sealed:2:p3.{TOKEN}.2:AbC_-",
        f"sealed:2:p3.{TOKEN}:AbC_-9",
        f"sealed:2:p3.>.2:AbC_-9{TOKEN}",
        f" sealed:2:p3.{TOKEN}.2:AbC_-9",
    ],
)
def test_any_other_text_is_not_sealed_with_the_key_of_a_subject(text):
    assert parse_sealed(text) is None


def test_each_subject_of_each_context_has_a_token_of_its_own_without_characters_that_nats_reads():
    tokens = {
        token_of(context, subject) for context in ("reminder", "render") for subject in ("kim", "k.i.m", "*", ">", "")
    }
    assert len(tokens) == 10
    assert all(len(token) == 22 and token.replace("-", "").replace("_", "").isalnum() for token in tokens)


def test_an_erasure_ends_the_keys_before_it_and_no_later_ones():
    erased = {}
    assert not is_erased(erased, KeyRef("p3", TOKEN, 0))
    note_erased(erased, "reminder", "kim")
    assert is_erased(erased, KeyRef("p3", TOKEN, 0))
    assert not is_erased(erased, KeyRef("p3", TOKEN, 1))
    assert not is_erased(erased, KeyRef("p3", token_of("reminder", "lee"), 0))
    note_erased(erased, "reminder", "kim")
    assert is_erased(erased, KeyRef("p3", TOKEN, 1))


def test_a_text_that_nobody_could_read_is_found():
    erased = {TOKEN: 3}
    assert names_erased_key(erased, "plain", None, str(TEXT))
    assert not names_erased_key({TOKEN: 2}, "plain", None, str(TEXT))
    assert not names_erased_key(erased, "plain", None, "")
