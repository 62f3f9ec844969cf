"""JSON Schemas for people: the type of a value in words, the fields of an object as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from tools.docs.markdown import code, prose, table

Schema = dict[str, Any]
LinkTo = Callable[[str], str]
"""Makes the link to the description of a named schema."""

_TIMES: Final = {"date-time": "time", "date": "date"}
_BOUNDS: Final = (
    ("minimum", "maximum", ""),
    ("exclusiveMinimum", "exclusiveMaximum", " (exclusive)"),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)
"""The keys of a lower and an upper bound, and what they count."""


def fields_table(schema: Schema, link_to: LinkTo, without: Collection[str] = ()) -> list[str]:
    required = schema.get("required", ())
    rows = [
        (code(name), type_text(field, link_to), _default_text(field, name in required), _meaning(field))
        for name, field in schema.get("properties", {}).items()
        if name not in without
    ]
    return table(("field", "type", "default", "meaning"), rows)


def type_text(schema: Schema, link_to: LinkTo) -> str:
    """Say in words which values a schema accepts."""
    if "$ref" in schema:
        return link_to(schema["$ref"].rpartition("/")[2])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(type_text(part, link_to) for part in schema[key]))
    if "allOf" in schema:
        return type_text(schema["allOf"][0], link_to)
    if "enum" in schema:
        return ", ".join(code(str(value)) for value in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    return ", ".join((_plain_type(schema, link_to), *_bounds(schema)))


def _plain_type(schema: Schema, link_to: LinkTo) -> str:
    kind = schema.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        items = schema.get("items", {})
        if isinstance(items, list):
            return f"list of {', '.join(type_text(item, link_to) for item in items)}, in this order"
        return f"list of {type_text(items, link_to)}" if items else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object whose values are {type_text(schema['additionalProperties'], link_to)}"
    return _TIMES.get(schema.get("format", ""), str(kind))


def _bounds(schema: Schema) -> Iterator[str]:
    for least, most, unit in _BOUNDS:
        match schema.get(least), schema.get(most):
            case None, None:
                continue
            case low, None:
                yield f"at least {low:,}{unit}"
            case None, high:
                yield f"at most {high:,}{unit}"
            case low, high:
                yield f"{low:,} to {high:,}{unit}"


def _default_text(field: Schema, is_required: bool) -> str:
    if "default" in field:
        return code(_json(field["default"]))
    return "required" if is_required else "–"


def _json(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else str(value)


def _meaning(field: Schema) -> str:
    return prose(field.get("description", ""))
