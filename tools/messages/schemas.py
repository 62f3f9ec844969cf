"""Makes the JSON Schema of a message type with msgspec, and adds formats of times, descriptions and the common fields.

The schema means the same in draft 07, which AsyncAPI uses, and in later drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from drover.domain.event import Event
from drover.readmodel.docstrings import field_texts

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
Schema = dict[str, Any]

_STAMPED: Final = tuple(field.name for field in msgspec.structs.fields(Event) if field.default is not msgspec.UNSET)
"""Common fields of events that the writer always sets. Their defaults in the code are only for older events without
them."""


def types_of(union: Any) -> dict[str, type[Any]]:
    """Return the types of a union by their tag, which is the `type` of a message."""
    members: tuple[Any, ...] = getattr(union, "__args__", (union,))
    return {str(type_.__struct_config__.tag): type_ for type_ in members}


def event_schema(type_: type[Any]) -> Schema:
    """Make the schema of an event as the log stores it, with the fields that every event has."""
    schema = schema_of(type_)
    properties = schema["properties"]
    for name in _STAMPED:
        properties[name].pop("default", None)
    schema["required"] = [name for name in properties if name in schema["required"] or name in _STAMPED]
    return schema


def schema_of(type_: Any) -> Schema:
    """Make the schema of one type, with its nested types in `$defs`."""
    made = msgspec.json.schema(type_)
    definitions: dict[str, Schema] = made.pop("$defs", {})
    structs = {_name(info): info for info in _structs(inspect.type_info(type_))}
    for name in definitions.keys() & structs.keys():
        _complete(definitions[name], structs[name])
    name = str(made.get("$ref", "")).removeprefix("#/$defs/")
    root = definitions.pop(name) if name else made
    if not name:
        _mark(made, inspect.type_info(type_))
    schema: Schema = _older(root | ({"$defs": definitions} if definitions else {}))
    return schema


def _complete(schema: Schema, info: inspect.StructType) -> None:
    if info.array_like:
        places = schema["prefixItems"]
        for place, field in zip(places, info.fields, strict=True):
            _mark(place, field.type)
            place["title"] = field.encode_name
        return
    texts = field_texts(info.cls)
    for field in info.fields:
        described = schema["properties"][field.encode_name]
        _mark(described, field.type)
        if (text := texts.get(field.name)) is not None:
            described["description"] = text


def _mark(schema: Schema, info: inspect.Type) -> None:
    """Set the format of all texts that are times: msgspec does so only for times with a required time zone."""
    if isinstance(info, inspect.DateTimeType):
        schema["format"] = "date-time"
    elif isinstance(info, inspect.UnionType):
        times = [part for part in info.types if isinstance(part, inspect.DateTimeType)]
        for alternative in schema.get("anyOf", ()):
            if times and alternative.get("type") == "string":
                alternative["format"] = "date-time"
    elif isinstance(info, inspect.ListType | inspect.VarTupleType) and "items" in schema:
        _mark(schema["items"], info.item_type)
    elif isinstance(info, inspect.DictType) and isinstance(schema.get("additionalProperties"), dict):
        _mark(schema["additionalProperties"], info.value_type)


def _structs(info: Any) -> Iterator[inspect.StructType]:
    waiting, seen = [info], set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, inspect.StructType):
            if part.cls in seen:
                continue
            seen.add(part.cls)
            yield part
            waiting += [field.type for field in part.fields]
        elif isinstance(part, inspect.Type):
            for name in part.__struct_fields__:
                inner = getattr(part, name)
                waiting += inner if isinstance(inner, tuple) else [inner]


def _name(info: inspect.StructType) -> str:
    return str(info.cls.__name__)


def _older(value: Any) -> Any:
    """Convert a schema to the form that it has when read from its file: tuples as in draft 07, descriptions on
    one line, and plain lists."""
    if isinstance(value, dict):
        value = {key: _older(item) for key, item in value.items()}
        if isinstance(value.get("description"), str):
            value["description"] = " ".join(value["description"].split())
        if isinstance(value.get("discriminator"), dict):
            del value["discriminator"]  # belongs to OpenAPI; the tag says the same
        if isinstance(places := value.pop("prefixItems", None), list):
            rest = value.pop("items", True)
            value |= {"items": places, "additionalItems": rest}
        return value
    return [_older(item) for item in value] if isinstance(value, list | tuple) else value
