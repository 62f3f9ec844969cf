"""The check for incompatible changes: finds every kind of them, and lets everything else through."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from drover.domain.deciders import DECIDERS
from tools.messages.compatibility import breaks
from tools.messages.published import schemas_of

pytestmark = pytest.mark.req("EV-09")

REAL = [schema for name, schema in sorted(schemas_of(DECIDERS.values()).items()) if name.sort == "events"]
"""Every event there is."""
FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


def one_field(schema: dict, *, required: bool = True) -> dict:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"] if required else []}


TEXT, NUMBER, WHOLE, NONE = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "null"}
MAYBE = {"anyOf": [TEXT, NONE]}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (TEXT, WHOLE, "type_changed"),
        (NUMBER, WHOLE, "type_changed"),
        (TEXT, {"type": "array", "items": TEXT}, "type_changed"),
        (MAYBE, TEXT, "type_changed"),
        ({}, TEXT, "type_changed"),
        ({"enum": ["x", "y"]}, {"enum": ["x"]}, "values_removed"),
        (TEXT, {"enum": ["x"]}, "values_removed"),
        ({"enum": ["x"]}, WHOLE, "type_changed"),
        (TEXT, TEXT | {"format": "date-time"}, "bound_tightened"),
        (TEXT, TEXT | {"maxLength": 5}, "bound_tightened"),
        (TEXT | {"maxLength": 9}, TEXT | {"maxLength": 5}, "bound_tightened"),
        (WHOLE, WHOLE | {"minimum": 0}, "bound_tightened"),
        (TEXT | {"pattern": "a"}, TEXT | {"pattern": "b"}, "bound_tightened"),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": WHOLE}, "type_changed"),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "minItems": 1}, "bound_tightened"),
        ({"type": "array", "items": [TEXT, TEXT]}, {"type": "array", "items": [TEXT]}, "field_removed"),
        ({"type": "array", "items": [TEXT]}, {"type": "array", "items": TEXT}, "type_changed"),
        ({"type": "object"}, {"type": "object", "additionalProperties": TEXT}, "type_changed"),
        ({"type": "object"}, {"type": "object", "additionalProperties": False}, "unknown_fields_refused"),
        (one_field(TEXT), one_field(WHOLE), "type_changed"),
        (TEXT, TEXT | {"not": {"enum": ["x"]}}, "not_comparable"),
    ],
)
def test_what_takes_less_than_before_is_a_break(before, after, kind):
    (found,) = breaks(one_field(before), one_field(after))
    assert found.kind == kind and found.path.startswith("a")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WHOLE, NUMBER),
        (TEXT, MAYBE),
        (TEXT, {}),
        ({"enum": ["x"]}, {"enum": ["x", "y"]}),
        ({"enum": ["x"]}, TEXT),
        (TEXT | {"maxLength": 5}, TEXT | {"maxLength": 9}),
        (TEXT | {"maxLength": 5}, TEXT),
        (TEXT | {"format": "date-time"}, TEXT),
        (MAYBE, {"anyOf": [NONE, WHOLE, TEXT]}),
        ({"type": ["string", "null"]}, MAYBE),
        (TEXT, TEXT | {"title": "x", "description": "y"}),
        ({"type": "array", "items": [TEXT]}, {"type": "array", "items": [TEXT, WHOLE]}),
        ({"type": "object", "additionalProperties": False}, {"type": "object"}),
    ],
)
def test_what_takes_more_than_before_is_none(before, after):
    assert breaks(one_field(before), one_field(after)) == []


def test_what_is_told_of_one_alternative_among_several():
    (found,) = breaks(one_field(MAYBE), one_field(TEXT))
    assert found.said == "no longer takes null"
    (found,) = breaks(one_field(TEXT), one_field(WHOLE))
    assert found.said == "was string and is integer"
    before, after = ({"anyOf": [one_field(part), NONE]} for part in (TEXT, WHOLE))
    (found,) = breaks(one_field(before), one_field(after))
    assert (found.path, found.said) == ("a.a", "was string and is integer")


def test_a_type_that_holds_itself_is_compared_once():
    tree = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Tree"}, NONE]}}, "required": ["next"]}
    whole = {"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}}
    assert breaks(whole, whole) == []
    grown = deepcopy(tree)
    grown["required"].append("leaf")
    grown["properties"]["leaf"] = TEXT
    assert [one.path for one in breaks(whole, {"$ref": "#/$defs/Tree", "$defs": {"Tree": grown}})] == ["leaf"]


def test_another_default_changes_what_older_events_say_and_older_commands_only_leave_it_open():
    before, after = (one_field(TEXT | {"default": word}, required=False) for word in ("x", "y"))
    assert [one.kind for one in breaks(before, after)] == ["default_changed"]
    assert breaks(before, after, defaults_matter=False) == []


# Kinds of change, each to a schema that is given to it as a copy; False: there is nothing there to change that way.


def remove_a_field(schema: dict, draw: Any) -> bool:
    name = draw(st.sampled_from(sorted(schema["properties"])))
    del schema["properties"][name]
    schema["required"] = [one for one in schema["required"] if one != name]
    return True


def rename_a_field(schema: dict, draw: Any) -> bool:
    name = draw(st.sampled_from(sorted(schema["properties"])))
    schema["properties"]["renamed"] = schema["properties"].pop(name)
    schema["required"] = ["renamed" if one == name else one for one in schema["required"]]
    return True


def ask_for_a_new_field(schema: dict, draw: Any) -> bool:
    schema["properties"]["asked_from_now_on"] = draw(st.sampled_from([TEXT, WHOLE, NUMBER]))
    schema["required"].append("asked_from_now_on")
    return True


def ask_for_a_field_that_could_be_absent(schema: dict, draw: Any) -> bool:
    optional = sorted(schema["properties"].keys() - set(schema["required"]))
    if optional:
        schema["required"].append(draw(st.sampled_from(optional)))
    return bool(optional)


def change_a_type(schema: dict, draw: Any) -> bool:
    name = draw(st.sampled_from(sorted(schema["properties"])))
    was = schema["properties"][name]
    schema["properties"][name] = {"type": "boolean"} if was.get("type") != "boolean" else TEXT
    return was != {}


def take_null_away(schema: dict, draw: Any) -> bool:
    nullable = sorted(name for name, one in schema["properties"].items() if NONE in one.get("anyOf", ()))
    if nullable:
        one = schema["properties"][draw(st.sampled_from(nullable))]
        one["anyOf"] = [part for part in one["anyOf"] if part != NONE]
    return bool(nullable)


def rename_the_tag(schema: dict, draw: Any) -> bool:
    schema["properties"]["type"]["enum"] = [schema["properties"]["type"]["enum"][0] + "V2"]
    return True


def bound_a_text(schema: dict, draw: Any) -> bool:
    texts = sorted(name for name, one in schema["properties"].items() if one.get("type") == "string")
    if texts:
        bound = draw(st.sampled_from([{"maxLength": 3}, {"pattern": "^x"}, {"enum": ["x"]}, {"format": "uuid"}]))
        schema["properties"][draw(st.sampled_from(texts))] |= bound
    return bool(texts)


def refuse_unknown_fields(schema: dict, draw: Any) -> bool:
    schema["additionalProperties"] = False
    return True


def change_a_default(schema: dict, draw: Any) -> bool:
    having = sorted(name for name, one in schema["properties"].items() if "default" in one)
    if having:
        schema["properties"][draw(st.sampled_from(having))]["default"] = "another"
    return bool(having)


def break_a_part(schema: dict, draw: Any) -> bool:
    """The same, one floor down."""
    parts = [part for part in schema.get("$defs", {}).values() if part.get("properties")]
    if not parts:
        return False
    change = draw(st.sampled_from([remove_a_field, ask_for_a_new_field, change_a_type]))
    return change(draw(st.sampled_from(parts)), draw)


def add_an_optional_field(schema: dict, draw: Any) -> bool:
    schema["properties"]["added"] = draw(st.sampled_from([TEXT, WHOLE, MAYBE, {}])) | {"default": None}
    return True


def let_a_field_be_null(schema: dict, draw: Any) -> bool:
    name = draw(st.sampled_from(sorted(schema["properties"])))
    kept = {key: value for key, value in schema["properties"][name].items() if key == "default"}
    schema["properties"][name] = kept | {"anyOf": [schema["properties"][name], NONE]}
    return True


def let_a_field_be_absent(schema: dict, draw: Any) -> bool:
    schema["required"].remove(draw(st.sampled_from(schema["required"])))
    return True


def write_a_text(schema: dict, draw: Any) -> bool:
    schema["description"] = draw(st.text())
    return True


def shuffle(schema: dict, draw: Any) -> bool:
    schema["properties"] = dict(draw(st.permutations(list(schema["properties"].items()))))
    schema["required"] = draw(st.permutations(schema["required"]))
    return True


INCOMPATIBLE = [
    remove_a_field,
    rename_a_field,
    ask_for_a_new_field,
    ask_for_a_field_that_could_be_absent,
    change_a_type,
    take_null_away,
    rename_the_tag,
    bound_a_text,
    refuse_unknown_fields,
    change_a_default,
    break_a_part,
]
COMPATIBLE = [add_an_optional_field, let_a_field_be_null, let_a_field_be_absent, write_a_text, shuffle]


@pytest.mark.parametrize("change", INCOMPATIBLE, ids=lambda change: change.__name__)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_any_incompatible_change_of_any_event_is_found_among_compatible_ones(change, data):
    before = data.draw(st.sampled_from(REAL))
    after = deepcopy(before)
    assume(change(after, data.draw))
    for other in data.draw(st.lists(st.sampled_from([add_an_optional_field, write_a_text, shuffle]), max_size=2)):
        other(after, data.draw)
    assert breaks(before, after) != []


@FEW
@given(st.data())
def test_any_compatible_changes_of_any_event_pass(data):
    before = data.draw(st.sampled_from(REAL))
    after = deepcopy(before)
    for change in data.draw(st.lists(st.sampled_from(COMPATIBLE), max_size=4)):
        change(after, data.draw)
    assert breaks(before, after) == []


# Any two schemas: what passes is really read. The judge is a validator that somebody else wrote.

leaves = st.one_of(
    st.just({}),
    st.sampled_from([TEXT, NUMBER, WHOLE, NONE, {"type": "boolean"}]),
    st.integers(0, 3).map(lambda most: TEXT | {"maxLength": most}),
    st.integers(-2, 2).map(lambda least: WHOLE | {"minimum": least}),
    st.lists(st.sampled_from(["x", "yy", 1, None]), min_size=1, unique=True).map(lambda words: {"enum": words}),
)


def objects(parts: st.SearchStrategy[dict]) -> st.SearchStrategy[dict]:
    fields = st.dictionaries(st.sampled_from("ab"), parts, max_size=2)
    return st.builds(
        lambda properties, required, others: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in required],
            "additionalProperties": others,
        },
        fields,
        st.sets(st.sampled_from("ab")),
        st.just(False) | parts,
    )


any_schema = st.recursive(
    leaves,
    lambda parts: st.one_of(
        objects(parts),
        st.lists(parts, min_size=1, max_size=3).map(lambda some: {"anyOf": some}),
        parts.map(lambda part: {"type": "array", "items": part}),
    ),
    max_leaves=5,
)

any_value = st.recursive(
    st.sampled_from([None, True, 0, 1, -1, 2.5, "", "x", "yy", "zzzz"]),
    lambda parts: st.lists(parts, max_size=2) | st.dictionaries(st.sampled_from("abc"), parts, max_size=3),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_schema, any_schema, st.lists(any_value, min_size=4, max_size=12))
def test_no_value_of_before_is_refused_after_a_change_that_passed(before, after, values):
    if breaks(before, after):
        return
    was, is_ = jsonschema_rs.Draft7Validator(before), jsonschema_rs.Draft7Validator(after)
    for value in values:
        assert is_.is_valid(value) or not was.is_valid(value), value


@FEW
@given(any_schema)
def test_nothing_breaks_where_nothing_changes(schema):
    assert breaks(schema, schema) == []
