"""Compares published schemas with those of the code: can the code still read every message ever written?

This matters for events, which the log keeps, and for commands, which older clients still send. A schema that accepts
more is compatible; one that accepts less is a `Break`. Only the keywords of JSON Schema that msgspec writes are
supported; a difference in any other keyword counts as a break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import msgspec

Schema = dict[str, Any]
Kind = Literal[
    "field_removed",
    "field_required",
    "type_changed",
    "values_removed",
    "bound_tightened",
    "unknown_fields_refused",
    "default_changed",
    "not_comparable",
]

_NOTES: Final = frozenset({"$schema", "$id", "$comment", "$defs", "title", "description", "examples", "default"})
"""Keywords that do not affect which messages are accepted. `default` affects how events are read, so `_fields` compares
it."""
_DEPRECATED: Final = frozenset({"deprecated", "x-upcast-to"})
_SHAPE: Final = frozenset({"type", "enum", "anyOf", "$ref", "properties", "required", "additionalProperties"})
_ITEMS: Final = frozenset({"items", "additionalItems"})
_AT_LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_AT_MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_EXACT: Final = ("pattern", "format", "multipleOf", "contentEncoding")
_KNOWN: Final = _NOTES | _DEPRECATED | _SHAPE | _ITEMS | {*_AT_LEAST, *_AT_MOST, *_EXACT}
_MISSING: Final = object()


class Break(msgspec.Struct, frozen=True):
    """One thing that the published schema allows and the new one does not."""

    kind: Kind
    path: str
    """The path of the field within the message: `target.device_ids[]`."""
    said: str
    """What changed, as the end of a sentence that begins with the path."""


def breaks(published: Schema, current: Schema, *, defaults_matter: bool = True) -> list[Break]:
    """List everything that the published schema allows and that the code can no longer read.

    `defaults_matter`: whether a changed default is a break. For events it is one: an old event that lacks a field is
    read with the default of the field.
    """
    found: list[Break] = []
    for one in _Comparison(published, current, defaults_matter).between(published, current, ""):
        if one not in found:
            found.append(one)
    return found


class _Comparison:
    def __init__(self, published: Schema, current: Schema, defaults_matter: bool) -> None:
        self._roots = published, current
        self._defaults_matter = defaults_matter
        self._open: set[tuple[int, int]] = set()
        """The pairs of objects that are being compared now, to stop at types that contain themselves."""

    def between(self, old: Schema, new: Schema, path: str) -> Iterator[Break]:
        """Compare two schemas: each alternative of the old one needs an alternative of the new one that accepts it.
        Otherwise, yield its breaks against the most similar alternative."""
        choices = list(_flat(new, self._roots[1]))
        before = list(_flat(old, self._roots[0]))
        for was in before:
            tries = [list(self._one(was, choice, path)) for choice in choices]
            if not all(tries):
                continue
            if len(before) > 1 and all(_is_of_another_type(tried, path) for tried in tries):
                yield Break("type_changed", path, f"no longer takes {was.get('type') or 'anything'}")
            else:
                yield from min(tries, key=lambda tried: (_is_of_another_type(tried, path), len(tried)))

    def _one(self, old: Schema, new: Schema, path: str) -> Iterator[Break]:
        for keyword in sorted((old.keys() | new.keys()) - _KNOWN):
            if old.get(keyword, _MISSING) != new.get(keyword, _MISSING):
                yield Break("not_comparable", path, f"differs in `{keyword}`, which this check does not know")
        if "enum" in old or "enum" in new:
            yield from _words(old, new, path)
            return
        was, is_ = old.get("type"), new.get("type")
        if was != is_ and is_ is not None and (was, is_) != ("integer", "number"):
            yield Break("type_changed", path, f"was {was or 'anything'} and is {is_}")
            return
        yield from _bounds(old, new, path)
        pair = id(old), id(new)
        if was == "object" and is_ == "object" and pair not in self._open:
            self._open.add(pair)
            yield from self._fields(old, new, path)
            self._open.discard(pair)
        elif was == "array" and is_ == "array":
            yield from self._places(old, new, path)

    def _fields(self, old: Schema, new: Schema, path: str) -> Iterator[Break]:
        before, after = old.get("properties", {}), new.get("properties", {})
        for name, was in before.items():
            if name not in after:
                yield Break("field_removed", _at(path, name), "was removed")
                continue
            yield from self.between(was, after[name], _at(path, name))
            if self._defaults_matter and "default" in was and was["default"] != after[name].get("default", _MISSING):
                if name in new.get("required", ()):
                    continue  # reported below
                yield Break("default_changed", _at(path, name), f"no longer reads as {was['default']!r} where absent")
        for name in new.get("required", ()):
            if name not in old.get("required", ()):
                said = "became required" if name in before else "is new and required"
                yield Break("field_required", _at(path, name), said)
        yield from self._others(old, new, path)

    def _others(self, old: Schema, new: Schema, path: str) -> Iterator[Break]:
        """Compare what the schemas say about fields that they do not name."""
        was, is_ = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if is_ is False and was is not False:
            yield Break("unknown_fields_refused", path, "no longer takes fields that it does not know")
        elif isinstance(is_, dict) and was is not False:
            yield from self.between(was if isinstance(was, dict) else {}, is_, _at(path, "*"))
        if isinstance(was, dict):  # a map: a field that is named now may have been one of its keys
            for name, field in new.get("properties", {}).items():
                if name not in old.get("properties", {}):
                    yield from self.between(was, field, _at(path, name))

    def _places(self, old: Schema, new: Schema, path: str) -> Iterator[Break]:
        was, is_ = old.get("items", {}), new.get("items", {})
        if isinstance(was, list) != isinstance(is_, list):
            yield Break("type_changed", path, "was a list and is a tuple, or the other way round")
        elif isinstance(was, list):
            for number, (one, other) in enumerate(zip(was, is_, strict=False)):
                yield from self.between(one, other, f"{path}[{number}]")
            if len(is_) < len(was):
                yield Break("field_removed", f"{path}[{len(is_)}]", "was removed")
        else:
            yield from self.between(was, is_, f"{path}[]")


def _flat(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield the alternatives of a schema, with references resolved. Keywords beside the alternatives apply to each of
    them."""
    if (ref := schema.get("$ref")) is not None:
        name = str(ref).removeprefix("#/$defs/")
        beside = {key: value for key, value in schema.items() if key not in _NOTES and key != "$ref"}
        named = root["$defs"][name]
        yield from _flat(named | beside if beside else named, root)  # the same object, so that recursion is noticed
    elif "anyOf" in schema:
        beside = {key: value for key, value in schema.items() if key not in _NOTES and key != "anyOf"}
        for part in schema["anyOf"]:
            yield from _flat(part | beside if beside else part, root)
    elif isinstance(schema.get("type"), list):
        for one in schema["type"]:
            yield schema | {"type": one}
    else:
        yield schema


def _words(old: Schema, new: Schema, path: str) -> Iterator[Break]:
    if "enum" not in new:
        wanted = new.get("type")
        if wanted is not None and not all(_is_of(wanted, word) for word in old["enum"]):
            yield Break("type_changed", path, f"was one of {_listed(old['enum'])} and is {wanted}")
        yield from _bounds({}, new, path)
    elif "enum" not in old:
        yield Break("values_removed", path, f"was {old.get('type') or 'anything'} and is one of {_listed(new['enum'])}")
    elif gone := [word for word in old["enum"] if word not in new["enum"]]:
        yield Break("values_removed", path, f"no longer takes {_listed(gone)}")


_JSON: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}


def _is_of(type_: str, value: Any) -> bool:
    return type_ in _JSON and _JSON[type_](value)


def _bounds(old: Schema, new: Schema, path: str) -> Iterator[Break]:
    for name in _AT_LEAST:
        if name in new and (name not in old or old[name] < new[name]):
            yield Break("bound_tightened", path, f"{name} was {old.get(name, 'none')} and is {new[name]}")
    for name in _AT_MOST:
        if name in new and (name not in old or old[name] > new[name]):
            yield Break("bound_tightened", path, f"{name} was {old.get(name, 'none')} and is {new[name]}")
    for name in _EXACT:
        if name in new and old.get(name) != new[name]:
            yield Break("bound_tightened", path, f"{name} was {old.get(name, 'none')} and is {new[name]}")


def _is_of_another_type(tried: list[Break], path: str) -> bool:
    """Whether the value itself, not a field of it, has another type. Such an alternative counts as less similar than
    any of the same type."""
    return any(one.kind == "type_changed" and one.path == path for one in tried)


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _listed(words: list[Any]) -> str:
    return ", ".join(str(word) for word in words)
