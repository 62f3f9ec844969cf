"""The published contract of HTTP: made from the code, fresh, and with every route of every service in it."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from aiohttp import web
from nats.aio.client import Client

from drover.cli.service_names import SERVICES
from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.hosting.host import Host
from drover.platform.openapi import FILE, OPERATIONS, openapi_document, openapi_yaml
from drover.platform.serve import compose
from drover.platform.settings import load
from drover.service.health import Health
from drover.web.application import ANY

ROOT = Path(__file__).parents[2]
DESCRIBED = ("/api/", "/auth/", "/rest/", "/agent/", "/livez", "/readyz", "/metrics", "/health")
"""All else are the dashboard's pages and files."""
pytestmark = pytest.mark.req("EV-09")


document = cache(openapi_document)
"""Made once: it takes half a second."""


def all_services() -> web.Application:
    """Every service in one process, with all that opens a route configured. Nothing is started or connected."""
    configuration = load(
        {
            "DROVER_NATS_URL": "nats://nowhere",
            "DROVER_POSTGRES_URL": "postgresql://nowhere/x",
            "DROVER_JWT_SECRETS": "s" * 32,
            "DROVER_IDENTITY_SECRETS": "i" * 32,
            "DROVER_SEALING_KEYS": f"k1:{base64.b64encode(b'k' * 32).decode()}",
            "DROVER_RENDER_NEXRENDER_URL": "http://nowhere",
            "DROVER_RENDER_WORKERS": "1",
            "DROVER_RENDER_NAS": "/nowhere",
            "DROVER_RENDER_OUTPUT_DIR": "/nowhere",
        }
    )
    pool: Any = None
    partitions = {context: (Partition(context),) for context in CONTEXTS}
    host = Host(configuration, Client(), pool, services=SERVICES, partitions=partitions)
    app, _ = compose(host, Health())
    return app


async def test_every_route_of_every_service_is_in_the_document_and_nothing_else():
    routes = {
        (route.method, route.resource.canonical)
        for route in all_services().router.routes()
        if route.resource is not None
        and route.method not in ("HEAD", ANY)
        and route.resource.canonical.startswith(DESCRIBED)
    }
    described = {operation.route for operation in OPERATIONS}
    assert routes - described == set(), "describe them in the OPERATIONS of their service"
    assert described - routes == set(), "no service has these routes"


def test_the_published_file_is_fresh():
    assert (ROOT / FILE).read_text(encoding="utf-8") == openapi_yaml(), "run `make contracts`"


def test_the_file_says_what_the_server_says():
    served = msgspec.json.decode(msgspec.json.encode(openapi_document()))
    assert yaml.safe_load(openapi_yaml()) == served


def test_every_operation_has_a_name_of_its_own_and_says_what_it_is():
    assert [id_ for id_, count in Counter(operation.id for operation in OPERATIONS).items() if count > 1] == []
    for operation in OPERATIONS:
        assert operation.summary and operation.tag
        named = set(re.findall(r"{(\w+)}", operation.path))
        assert named == {one.name for one in operation.parameters if one.place == "path"}, operation.path


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_every_operation_says_how_it_ends_well_and_how_it_is_refused(operation):
    described = document()["paths"][operation.path][operation.method.lower()]
    answers = set(described["responses"])
    assert answers & {"101", "200", "201", "204"}, "an answer that is good"
    for status in operation.answers:
        assert described["responses"][str(status)]["description"], status
    if operation.caller == "token":
        assert {"401", "403"} <= answers
    if operation.body is not None:
        assert {"400", "413", "415"} <= answers
    if operation.path.startswith(("/api/", "/rest/")) and operation.caller == "token":
        assert answers & {"500", "503"} or operation.path == "/api/status", "what it says while a server is away"
    names_one = any(one.place == "path" for one in operation.parameters)
    lists = any("Page" in str(answer.type) for answer in operation.answers.values())
    assert "404" in answers or not names_one or lists, "what it says of something that is not there"


def test_every_parameter_says_what_it_is():
    for operation in OPERATIONS:
        for parameter in operation.parameters:
            assert parameter.description.endswith((".", "…")), (operation.id, parameter.name)


def test_no_name_of_a_type_is_private_or_ambiguous():
    names = openapi_document()["components"]["schemas"]
    assert [name for name in names if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*|rest_[a-z_]+", name)] == []


def test_every_reference_leads_somewhere():
    document = openapi_document()
    for ref in set(_refs(document)):
        place: Any = document
        for part in ref.removeprefix("#/").split("/"):
            place = place[part]


def test_texts_of_fields_are_in_the_document():
    device = openapi_document()["components"]["schemas"]["Device"]["properties"]
    assert device["held_until"]["description"] == "It gets no offer before: it did not take the last ones."


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key == "$ref")
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)
