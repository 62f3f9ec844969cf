"""Value objects are read by name from whatever has their fields."""

import msgspec

from drover.domain.spec import changed, fields_of, spec_of


class Spec(msgspec.Struct, frozen=True):
    name: str
    size: int = 1


class Source(msgspec.Struct):
    size: int | None
    name: str | None
    other: str = ""


def test_a_value_object_is_found_in_what_has_its_fields():
    source = Source(2, "a", "b")
    assert fields_of(Spec, source) == {"name": "a", "size": 2}
    assert spec_of(Spec, source) == Spec("a", 2)


def test_a_change_sets_what_is_not_none():
    assert changed(Spec("a", 2), Source(None, "b")) == Spec("b", 2)
    assert changed(Spec("a", 2), Source(0, "")) == Spec("", 0)
    assert changed(Spec("a", 2), Source(None, None)) == Spec("a", 2)
