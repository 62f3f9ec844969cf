"""The published contract of HTTP: made from the code, fresh, and with every route of every service in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from drover.platform.openapi import all_routes, openapi_document
from drover.web.application import ANY, PREFLIGHT
from tests.contract.routes import all_services
from tools.openapi import FILE, openapi_yaml

ROOT = Path(__file__).parents[2]
DESCRIBED = ("/api/", "/auth/", "/rest/", "/agent/", "/realtime/", "/livez", "/readyz", "/metrics", "/health")
"""All else are the dashboard's pages and files."""
pytestmark = pytest.mark.req("EV-09")
ROUTES = all_routes()


document = cache(openapi_document)
"""Made once: it takes half a second."""


async def test_every_route_of_every_service_is_in_the_document_and_nothing_else():
    routes = {
        (route.method, route.resource.canonical)
        for route in all_services().router.routes()
        if route.resource is not None
        and route.method not in ("HEAD", ANY, PREFLIGHT)
        and route.resource.canonical.startswith(DESCRIBED)
    }
    described = {(route.method, route.path) for route in ROUTES}
    assert routes - described == set(), "declare them where they are handled, and name the class in the service"
    assert described - routes == set(), "no service has these routes"


def test_the_published_file_is_fresh():
    assert (ROOT / FILE).read_text(encoding="utf-8") == openapi_yaml(), "run `make contracts`"


def test_the_file_says_what_the_server_says():
    served = msgspec.json.decode(msgspec.json.encode(openapi_document()))
    assert yaml.safe_load(openapi_yaml()) == served


def test_every_operation_has_a_name_of_its_own_and_says_what_it_is():
    assert [id_ for id_, count in Counter(route.id for route in ROUTES).items() if count > 1] == []
    for route in ROUTES:
        assert route.summary and route.tag
        named = set(re.findall(r"{(\w+)}", route.path))
        assert named == {one.name for one in route.parameters if one.place == "path"}, route.path


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.id)
def test_every_operation_says_how_it_ends_well_and_how_it_is_refused(route):
    described = document()["paths"][route.path][route.method.lower()]
    answers = set(described["responses"])
    assert answers & {"101", "200", "201", "202", "204"}, "an answer that is good"
    for status in route.answers:
        assert described["responses"][str(status)]["description"], status
    if route.caller == "token":
        assert {"401", "403"} <= answers
    if route.body is not None:
        assert {"400", "413", "415"} <= answers
    if route.path.startswith(("/api/", "/rest/")) and route.caller == "token":
        assert answers & {"500", "503"} or route.path == "/api/status", "what it says while a server is away"
    names_one = any(one.place == "path" for one in route.parameters)
    lists = any("Page" in str(answer.type) for answer in route.answers.values())
    names_one = names_one and route.id != "broadcastEvent"  # every topic is there, whether somebody listens or not
    assert "404" in answers or not names_one or lists, "what it says of something that is not there"


def test_every_parameter_says_what_it_is():
    for route in ROUTES:
        for parameter in route.parameters:
            assert parameter.description.endswith((".", "…")), (route.id, parameter.name)


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
    assert device["held_until"]["description"] == (
        "The device gets no offer until then, because it did not fetch its last offers."
    )


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key == "$ref")
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)
