"""`drover compositions`: lists, describes and removes compositions, and maps their fields to layers."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.text import Text

from drover.cli.confirmation import check_answerable, confirm
from drover.cli.errors import NothingFound
from drover.cli.exits import Exit
from drover.cli.operations.client import Client, Row, client_of
from drover.cli.operations.formatting import ago, heading, now, number, pairs, section, table, when
from drover.cli.operations.lookup import COMPOSITION, find
from drover.cli.operations.several import each, each_of, find_all, these
from drover.cli.operations.watching import show as show_document
from drover.cli.output import print_json, printable
from drover.cli.running import asynchronous
from drover.cli.server_options import Server

FIELDS: Final = "aep_field_mapping"
FIELD_KEY: Final = "composition_id,field_name"
FIELDS_MAX: Final = 1_000


@asynchronous
async def list_(limit: int, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        read = partial(client.rows, COMPOSITION.relation, order="id", limit=limit)
        return await show_document(read, _table, as_json=as_json)


@asynchronous
async def show(composition: str, as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, COMPOSITION, composition)
        return await show_document(partial(_read, client, found["id"]), _whole, as_json=as_json)


async def _read(client: Client, composition_id: str) -> Row:
    (composition,) = await client.rows(COMPOSITION.relation, id=f"eq.{composition_id}")
    fields = await client.rows(FIELDS, composition_id=f"eq.{composition_id}", order="field_name", limit=FIELDS_MAX)
    return {"composition": composition, "fields": fields}


@asynchronous
async def set_(
    composition: str, name: str | None, template: str | None, output_module: str | None, as_json: bool, server: Server
) -> Exit:
    wanted = {"id": composition, "name": name, "template": template, "output_module": output_module}
    async with client_of(server) as client:
        row = {column: value for column, value in wanted.items() if value is not None}
        made = await client.upsert(COMPOSITION.relation, "id", row)
    if as_json:
        print_json(made)
    else:
        click.echo(printable(f"Set composition {COMPOSITION.called(made)}."))
    return Exit.OK


@asynchronous
async def delete(compositions: tuple[str, ...], yes: bool, as_json: bool, server: Server) -> Exit:
    check_answerable(yes=yes)
    async with client_of(server) as client:
        found = await find_all(client, COMPOSITION, compositions)
        confirm(f"Delete {these(COMPOSITION, found)} with the mapping of its fields?", yes=yes)

        async def one(row: Row) -> tuple[str, Any]:
            await client.delete(COMPOSITION.relation, row["id"])
            return f"Deleted composition {COMPOSITION.called(row)}.", row

        return await each_of(found, one, as_json=as_json)


@asynchronous
async def map_(
    composition: str,
    field: str,
    layer: str,
    kind: str | None,
    property_: str | None,
    as_json: bool,
    server: Server,
) -> Exit:
    async with client_of(server) as client:
        found = await find(client, COMPOSITION, composition)
        wanted = {
            "composition_id": found["id"],
            "field_name": field,
            "layer_name": layer,
            "kind": kind,
            "property": property_,
        }
        row = {column: value for column, value in wanted.items() if value is not None}
        made = await client.upsert(FIELDS, FIELD_KEY, row)
    if as_json:
        print_json(made)
    else:
        click.echo(printable(f"{field} of {found['id']} is drawn on the layer {layer}."))
    return Exit.OK


@asynchronous
async def unmap(composition: str, fields: tuple[str, ...], as_json: bool, server: Server) -> Exit:
    async with client_of(server) as client:
        found = await find(client, COMPOSITION, composition)

        async def one(field: str) -> tuple[str, Any]:
            query = {"composition_id": f"eq.{found['id']}", "field_name": f"eq.{field}"}
            rows = await client.rows(FIELDS, **query)
            if not rows:
                raise NothingFound("mapped field", field, (), f"drover compositions show {found['id']}")
            await client.delete(FIELDS, rows[0]["id"])
            return f"{field} of {found['id']} is no longer drawn.", rows[0]

        return await each(fields, one, as_json=as_json)


def _table(rows: list[Row]) -> RenderableType:
    if not rows:
        return Text("No compositions yet. `drover compositions set ID` makes one.", "dim")
    at = now()
    return table(
        ("id", "name*", "template*", "fields", "changed"),
        ((row["id"], row["name"], row["template"], number(row["fields"]), ago(row["updated_at"], at)) for row in rows),
        numbers=("fields",),
    )


def _whole(document: Row) -> RenderableType:
    composition, at = document["composition"], now()
    parts: list[RenderableType] = [
        heading("composition", composition["id"], ""),
        pairs(
            ("name", composition["name"]),
            ("template", composition["template"] or "the default one"),
            ("output module", composition["output_module"]),
            ("changed", when(composition["updated_at"], at)),
        ),
    ]
    if fields := document["fields"]:
        lines = ((row["field_name"], row["layer_name"], row["kind"], row["property"]) for row in fields)
        parts.append(section("Fields", table(("field", "layer*", "kind", "property"), lines)))
    return Group(*parts)
