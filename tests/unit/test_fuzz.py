"""`make fuzz` finds what it looks for: servers with a fault are told from one without."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from drover.web.bodies import read_body
from drover.web.errors import ApiError
from tests.fuzz import attack, contract
from tests.fuzz.attack import Attacker, Tally
from tests.fuzz.contract import Interviewer
from tests.fuzz.hostile import Gunner, framed, operations
from tests.fuzz.reach import lines, not_reached
from tests.fuzz.target import Caller

SHAPE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "one", "version": "1"},
    "paths": {
        "/rest/v1/things": {
            "post": {
                "operationId": "makeThing",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
                "responses": {
                    "200": {"description": "made", "content": {"application/json": {"schema": SHAPE}}},
                    "400": {"description": "no"},
                },
            }
        }
    },
    "components": {"schemas": {"Thing": SHAPE}},
}
CALLERS = [Caller("anybody", {"apikey": "key"})]


def application(handler):
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    return app


async def bombarded(handler, monkeypatch, requests=300):
    monkeypatch.setattr(attack, "ANSWER_S", 0.5)
    tally = Tally()
    async with TestServer(application(handler)) as server:
        async with asyncio.timeout(30):
            await Attacker(server.port, operations(DOCUMENT), CALLERS, tally, seed="1").attack(requests)
    return tally


async def interviewed(handler, monkeypatch, examples=5):
    monkeypatch.setattr(contract, "openapi_document", lambda: DOCUMENT)
    monkeypatch.setattr(contract, "ANSWER_S", 0.5)
    async with TestServer(application(handler)) as server:
        target = SimpleNamespace(url=f"http://127.0.0.1:{server.port}", known_ids=lambda path, parameter: [])
        interviewer = Interviewer(target, lambda: CALLERS)
        return await asyncio.to_thread(interviewer.ask_all, examples)


async def fine(request):
    try:
        await read_body(request)
    except ApiError as refused:
        return web.json_response({}, status=refused.status)
    return web.json_response({"name": "x"})


async def fails(request):
    return web.json_response({}, status=500)


async def hangs(request):
    await asyncio.sleep(3600)


async def strange(request):
    return web.json_response({"name": "x"}, status=418)


async def misshapen(request):
    return web.json_response({"name": 1})


async def test_a_server_without_a_fault_passes(monkeypatch):
    tally = await bombarded(fine, monkeypatch)
    assert tally.faults == []
    assert tally.total >= 300
    assert {"body", "query", "header", "broken", "left", "socket"} <= tally.sent.keys()
    assert (await interviewed(fine, monkeypatch)).faults == {}


@pytest.mark.control
@pytest.mark.parametrize(("handler", "found"), [(fails, "500"), (hangs, "no answer")])
async def test_a_malformed_request_that_fails_or_hangs_is_found(handler, found, monkeypatch):
    requests = 300 if handler is fails else 3
    tally = await bombarded(handler, monkeypatch, requests)
    assert any(fault.startswith(found) for fault in tally.faults)


@pytest.mark.control
@pytest.mark.parametrize(
    ("handler", "found"),
    [(fails, "ServerError"), (hangs, "Timeout"), (strange, "UndefinedStatusCode"), (misshapen, "JsonSchemaError")],
)
async def test_an_answer_that_the_document_does_not_have_is_found(handler, found, monkeypatch):
    findings = await interviewed(handler, monkeypatch, 1 if handler is hangs else 5)
    assert any(found in key for key in findings.faults), findings.faults


def test_the_same_seed_makes_the_same_requests_and_fields_come_from_the_document():
    (operation,) = operations(DOCUMENT)
    assert (operation.method, operation.path, operation.fields) == ("POST", "/rest/v1/things", ("name",))

    def made(seed):
        gunner = Gunner(Random(seed), [operation], CALLERS)
        return [gunner.shot().data for _ in range(50)] + [gunner.agent_frame(), gunner.realtime_frame()]

    assert made("1") == made("1") != made("2")


def test_a_frame_may_claim_another_length_than_it_has():
    assert framed(b"{}") == b"\x81\x82\0\0\0\0{}"
    assert framed(b"{}", mask=False, length=2**16) == b"\x81\x7f\0\0\0\0\0\x01\0\0{}"


FILES = {
    "paths": {
        "/api/files/{day}/{name}.{format}": {
            "get": {
                "operationId": "getFile",
                "parameters": [
                    {"$ref": "#/components/parameters/format"},
                    {"in": "query", "name": "to", "schema": {"type": "string"}},
                ],
            },
            "post": {
                "operationId": "addFile",
                "security": [],
                "requestBody": {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
            },
        }
    },
    "components": {"parameters": {"format": {"in": "path", "name": "format", "schema": {"enum": ["csv", "json"]}}}},
}


def test_every_part_of_a_path_is_filled_and_files_are_sent_as_files():
    routes = operations(FILES)
    known = {"day": ["2026-01-01", "2026-01-02"], "name": ["first", "second"]}
    gunner = Gunner(Random("1"), routes, CALLERS, lambda path, parameter: known.get(parameter, ()))
    shots = [gunner.shot() for _ in range(2_000)]
    sent = b"".join(shot.data for shot in shots)
    assert b"{day}" not in sent and b"{format}" not in sent
    for wanted in (b"/2026-01-01/first.csv?", b"/2026-01-02/second.json?", b"csv?to=", b"filename=", b"\x89PNG"):
        assert wanted in sent, "ids that belong together stand together"
    assert {shot.operation for shot in shots} == {"", *(one.name for one in routes)}


def test_a_route_that_only_refuses_was_not_reached():
    read, add = operations(FILES)
    assert not_reached([read, add], {}) == [read.name, add.name]
    assert not_reached([read, add], {read.name: Counter({401: 9, 404: 9, 503: 1}), add.name: Counter({404: 1})}) == [
        read.name,
        add.name,
    ]
    # A route that takes no key checks the caller itself.
    assert not_reached([read, add], {read.name: Counter({400: 1, 401: 9}), add.name: Counter({401: 1})}) == []
    assert not_reached([read], {}, spared=["getFile"]) == []


async def test_the_answers_of_each_route_are_counted(monkeypatch):
    (operation,) = operations(DOCUMENT)
    tally = await bombarded(fine, monkeypatch)
    assert tally.answers[operation.name].total() > 50
    assert not_reached([operation], tally.answers) == []
    findings = await interviewed(fine, monkeypatch)
    assert findings.answers[operation.name].total() == findings.requests
    (line,) = lines([operation], findings.answers, tally.answers)
    assert line.split()[0] == str(findings.requests) and operation.name in line and " 200:" in line
