"""Makes the JSON Schemas of the types that routes declare: msgspec generates them, we add names and descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, get_origin

import msgspec
from msgspec.inspect import StructType, multi_type_info

from drover.readmodel.docstrings import field_texts
from drover.readmodel.row import Row
from drover.web.route import AnyOf, Schema

REF: Final = "#/components/schemas/{name}"
_GENERIC: Final = re.compile(r"([A-Za-z]+)_([A-Za-z]+)_")


class Schemas:
    """The schemas of all types in routes' parameters, bodies and answers. It needs all types at once, because two types
    of the same name must get different schema names."""

    def __init__(self, types: Iterable[Any]) -> None:
        wanted = list({id(part): part for type_ in types for part in _parts(type_)}.values())
        made = [type_ for type_ in wanted if isinstance(type_, Schema)]
        known = [type_ for type_ in wanted if not isinstance(type_, Schema)]
        schemas, components = _named(*msgspec.json.schema_components(known, ref_template=REF))
        self._kept = wanted  # keeps the objects alive, so that their ids stay unique
        self._schemas: dict[int, dict[str, Any]] = {
            id(type_): schema for type_, schema in zip(known, schemas, strict=True)
        }
        self._schemas |= {id(type_): {"$ref": REF.format(name=type_.name)} for type_ in made}
        _add_texts(components, known)
        components |= {type_.name: dict(type_.schema) for type_ in made}
        self.components = dict(sorted(components.items()))

    def __getitem__(self, type_: Any) -> dict[str, Any]:
        if isinstance(type_, AnyOf):
            return {"anyOf": [self[part] for part in type_.types]}
        return self._schemas[id(type_)]


def inlined_schema(type_: Any) -> dict[str, Any]:
    """Make the schema of a type inside a row, without references and without defaults, which a reader of rows does not
    need."""
    (schema,), components = _named(*msgspec.json.schema_components([type_], ref_template=REF))
    refs = {REF.format(name=name): component for name, component in components.items()}

    def inlined(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return inlined(refs[value["$ref"]])
            return {key: inlined(item) for key, item in value.items() if key != "default"}
        return [inlined(item) for item in value] if isinstance(value, list) else value

    found: dict[str, Any] = inlined(schema)
    return found


def _parts(type_: Any) -> tuple[Any, ...]:
    if isinstance(type_, AnyOf):
        return type_.types
    return (type_, *type_.parts) if isinstance(type_, Schema) else (type_,)


def _named(schemas: tuple[Any, ...], components: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Rename generic types: msgspec's `Page_Device_` becomes DevicePage."""
    names = {name: f"{found[2]}{found[1]}" for name in components if (found := _GENERIC.fullmatch(name))}
    refs = {REF.format(name=old): REF.format(name=new) for old, new in names.items()}

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            known = {"type": "string"} if _is_of_words(value) else {}
            return known | {key: renamed(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [renamed(item) for item in value]
        return refs.get(value, value) if isinstance(value, str) else value

    return renamed(schemas), {names.get(name, name): renamed(component) for name, component in components.items()}


def _is_of_words(schema: dict[str, Any]) -> bool:
    """Whether a schema is an enum of strings that lacks `type: string`. Code generators need that line."""
    words = schema.get("enum")
    return isinstance(words, list) and "type" not in schema and all(isinstance(word, str) for word in words)


def _add_texts(components: dict[str, Any], types: list[Any]) -> None:
    classes = {cls.__name__: cls for cls in _structs(types)}
    for component in components.values():
        cls = classes.get(component.get("title", "").partition("[")[0])
        texts = {} if cls is None else field_texts(cls)
        if cls is not None and issubclass(cls, Row):
            _require_all(component)
        for name, schema in component.get("properties", {}).items():
            if name in texts:
                schema["description"] = texts[name]  # OpenAPI 3.1 allows it beside a $ref


def _require_all(component: dict[str, Any]) -> None:
    """Mark all fields as required: a row always has all of its columns, even those with a default."""
    component["required"] = list(component["properties"])
    for schema in component["properties"].values():
        schema.pop("default", None)


def _structs(types: list[Any]) -> Iterator[type[Any]]:
    waiting: list[Any] = list(multi_type_info(types))
    seen: set[int] = set()
    while waiting:
        info = waiting.pop()
        if id(info) in seen or isinstance(info, type):
            continue
        seen.add(id(info))
        if isinstance(info, StructType):
            yield get_origin(info.cls) or info.cls
            waiting += [field.type for field in info.fields]
        else:
            for name in getattr(info, "__struct_fields__", ()):
                part = getattr(info, name)
                waiting += part if isinstance(part, tuple) else [part]
