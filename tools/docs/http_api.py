"""Generates the reference of the HTTP API, from the OpenAPI document of all services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from drover.platform.openapi import openapi_document
from tools.docs.markdown import anchor_of, code, head, heading, prose, table
from tools.docs.schema_text import Schema, fields_table, type_text

SOURCE: Final = "the routes of the services, as contracts/openapi.yaml"
_CALLERS: Final = {
    "bearer": "an API key or a person's access token as `Authorization: Bearer`",
    "apikey": "an API key as `apikey`",
    "cron": "the secret of cron jobs as `X-Cron-Secret`",
}


def http_pages() -> dict[str, str]:
    """Make the pages of the API: an index, one page for each tag, and one with all schemas."""
    document = openapi_document()
    tags = [tag["name"] for tag in document["tags"]]
    pages = {"reference/http/index.md": _index(document, tags)}
    for tag in tags:
        pages[f"reference/http/{tag}.md"] = "\n".join([*head(f"HTTP: {tag}", SOURCE), *_operations(document, tag)])
    pages["reference/http/schemas.md"] = "\n".join(_schemas(document))
    return pages


def _routes(document: dict[str, Any], tag: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield f"{method.upper()} {path}", operation


def _index(document: dict[str, Any], tags: list[str]) -> str:
    lines = [*head("HTTP API", SOURCE), prose(document["info"]["description"]), ""]
    lines += [
        "A running Drover serves the same document at `GET /api/openapi.json`, and the repository has it as "
        "`contracts/openapi.yaml`. [How an agent talks to Drover](../../agents.md) and [Moving over from "
        "Supabase](../../moving/README.md) explain how the routes belong together.",
        "",
    ]
    for tag in tags:
        rows = [
            (f"[{code(route)}]({tag}.md#{anchor_of(route)})", prose(operation["summary"]))
            for route, operation in _routes(document, tag)
        ]
        lines += [f"## {tag}", "", *table(("route", "what it does"), rows)]
    return "\n".join(lines)


def _operations(document: dict[str, Any], tag: str) -> Iterator[str]:
    for route, operation in _routes(document, tag):
        yield from heading(2, code(route), anchor_of(route))
        yield f"{prose(operation['summary'])}.\n"
        if text := operation.get("description"):
            yield f"{prose(text)}\n"
        yield f"Needs {_needed(operation)}.\n"
        parameters = [_resolved(document, one) for one in operation.get("parameters", ())]
        yield from table(
            ("parameter", "in", "type", "meaning"),
            [
                (
                    code(one["name"]) + (", required" if one["required"] else ""),
                    one["in"],
                    type_text(one["schema"], _link),
                    prose(one.get("description", "")),
                )
                for one in parameters
            ],
        )
        if body := operation.get("requestBody"):
            (content,) = body["content"].values()
            optional = "" if body["required"] else ", optional"
            yield f"Body{optional}: {type_text(content['schema'], _link)}.\n"
        answers = [(status, _resolved(document, one)) for status, one in operation["responses"].items()]
        yield from table(
            ("answer", "body", "meaning"),
            [(status, _body(answer), prose(answer.get("description", ""))) for status, answer in answers],
        )


def _needed(operation: dict[str, Any]) -> str:
    ways = [_CALLERS[name] for way in operation["security"] for name in way]
    return " or ".join(ways) or "no key"


def _resolved(document: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Follow a `$ref` to a shared parameter or response."""
    if "$ref" not in part:
        return part
    _, _, sort, name = part["$ref"].split("/")
    found: dict[str, Any] = document["components"][sort][name]
    return found


def _body(answer: dict[str, Any]) -> str:
    shapes = [type_text(content.get("schema", {}), _link) for content in answer.get("content", {}).values()]
    return " or ".join(shapes) or "–"


def _link(name: str) -> str:
    return f"[{name}](schemas.md#{anchor_of(name)})"


def _schemas(document: dict[str, Any]) -> Iterator[str]:
    yield from head("Schemas of the HTTP API", SOURCE)
    for name, schema in document["components"]["schemas"].items():
        yield from heading(2, name, anchor_of(name))
        if text := schema.get("description"):
            yield f"{prose(text)}\n"
        yield from _shape(schema)


def _shape(schema: Schema) -> list[str]:
    return fields_table(schema, _link) or [f"{type_text(schema, _link)}.", ""]
