"""The YAML of published files: plain where it can be, and read back as what it was, by any reader."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tools.yaml_text import to_yaml

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_back_as_it_was(value):
    assert yaml.safe_load(to_yaml(value)) == value


def test_lists_are_indented_and_texts_quoted_only_where_they_must_be():
    document = {"tags": ["rest", "a word"], "empty": {}, "200": {"$ref": "#/x"}, "path": "/api/{id}"}
    assert to_yaml(document) == ('tags:\n  - rest\n  - "a word"\nempty: {}\n"200":\n  $ref: "#/x"\npath: /api/{id}\n')


def test_words_that_some_readers_take_for_something_else_are_quoted():
    for word in ("y", "N", "yes", "off", "true", "null", "1", "1e3", "2026-11-17", "~", ""):
        assert to_yaml([word]) == f'- "{word}"\n', word


def test_a_part_that_is_there_twice_is_written_twice():
    part = {"type": "string"}
    assert to_yaml({"a": part, "b": part}) == "a:\n  type: string\nb:\n  type: string\n"
