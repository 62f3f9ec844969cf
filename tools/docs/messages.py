"""Generates the reference of events and commands, from the schemas and samples in contracts/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from drover.domain.contexts import CONTEXTS
from drover.domain.event import Event
from tools.docs.markdown import anchor_of, block, code, head, heading, prose
from tools.docs.schema_text import fields_table

CONTRACTS: Final = Path(__file__).parents[2] / "contracts"
ENVELOPE: Final = ("type", *(field.name for field in msgspec.structs.fields(Event)))
"""Fields that every event has. They are described once, not with each event."""

Sort = Literal["events", "commands"]
_INTRODUCTIONS: Final[dict[Sort, str]] = {
    "events": """\
Everything that happens is an event in the log of its context. One message of the log, a commit, has the events of one
or more commands, one JSON object a line. Events are kept for ever, so the shape of an event never changes; fields may
be added, with a default. `drover events tail` and `GET /api/events/stream` show events as they are committed.
""",
    "commands": """\
Services send commands to the writer of a context, over NATS, and the writer records its decision as events. Programs
outside of Drover use the [HTTP API](../http/index.md) instead, whose routes send these commands.
""",
}
_LEFT_OUT: Final[dict[Sort, tuple[str, ...]]] = {"events": ENVELOPE, "commands": ("type",)}


def message_pages(sort: Sort) -> dict[str, str]:
    """Make the pages of all events or all commands: an index, and one page for each context."""
    names = {context: _schemas(context, sort) for context in CONTEXTS}
    pages = {f"reference/{sort}/index.md": _index(sort, names)}
    for context, schemas in names.items():
        pages[f"reference/{sort}/{context}.md"] = _context_page(sort, context, schemas)
    return pages


def _schemas(context: str, sort: Sort) -> dict[str, dict[str, Any]]:
    files = sorted((CONTRACTS / "schemas" / context / sort).glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes()) for file in files}


def _index(sort: Sort, names: dict[str, dict[str, dict[str, Any]]]) -> str:
    lines = [*head(sort.capitalize(), "contracts/schemas"), _INTRODUCTIONS[sort]]
    if sort == "events":
        lines += ["## Fields of every event", "", *_envelope(next(iter(names["fleet"].values())))]
    for context, schemas in names.items():
        links = (f"[{name}]({context}.md#{anchor_of(name)})" for name in schemas)
        lines += [f"## {context}", "", ", ".join(links), ""]
    return "\n".join(lines)


def _envelope(any_event: dict[str, Any]) -> list[str]:
    common = {name: field for name, field in any_event["properties"].items() if name in ENVELOPE}
    common["type"] = {"type": "string", "description": "The name of the event."}
    return fields_table({**any_event, "properties": common}, code)


def _context_page(sort: Sort, context: str, schemas: dict[str, dict[str, Any]]) -> str:
    lines = head(f"{sort.capitalize()} of {context}", f"contracts/schemas/{context}/{sort}")
    if sort == "events":
        lines += ["Each event also has the [fields of every event](index.md#fields-of-every-event).", ""]
    for name, schema in schemas.items():
        lines += _message(sort, context, name, schema)
    return "\n".join(lines)


def _message(sort: Sort, context: str, name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from heading(2, name, anchor_of(name))
    if schema.get("deprecated"):
        yield f"No longer written. It is read as {code(schema['x-upcast-to'])}.\n"
    if text := schema.get("description"):
        yield f"{prose(text)}\n"

    def link_to(part: str) -> str:
        return f"[{part}](#{anchor_of(f'{name}-{part}')})"

    fields = fields_table(schema, link_to, without=_LEFT_OUT[sort])
    yield from fields or ["It has no fields of its own.", ""]
    for part, definition in schema.get("$defs", {}).items():
        yield from heading(3, part, anchor_of(f"{name}-{part}"))
        if text := definition.get("description"):
            yield f"{prose(text)}\n"
        yield from fields_table(definition, link_to) or _values(definition)
    if sort == "events":
        samples = sorted((CONTRACTS / "samples" / context).glob(f"{name}.*.json"))
        yield "For example:\n"
        yield from block(samples[-1].read_text(encoding="utf-8"), "json")


def _values(definition: dict[str, Any]) -> list[str]:
    return [f"One of {', '.join(code(str(value)) for value in definition.get('enum', ()))}.", ""]
