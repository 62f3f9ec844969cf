"""Registering devices and PCs: bodies become commands, outcomes become answers."""

from __future__ import annotations

import pytest

from drover.bus.messages import Rejected
from drover.domain.errors import Code

ROW = {"serial_number": "ABC12345", "group_id": "P1-G1", "pc_id": "pc-1", "capabilities": ["age_verified"]}


async def post(world, path, body, **headers):
    return await world.client.post(f"/rest/v1/{path}", json=body, headers=world.service | headers)


async def test_a_device_is_registered_and_the_answer_says_where(world):
    answer = await post(world, "devices", ROW)
    assert (answer.status, await answer.read()) == (201, b"")
    assert answer.headers["Drover-Position"] == "fleet=1"
    (sent,) = world.bus.sent
    assert (sent["context"], sent["by"]) == ("fleet", "service_role")
    assert sent["trace"].startswith("00-")
    assert "ABC12345" in world.roster.fleet.device_by_serial


async def test_a_representation_is_the_result_of_the_command(world):
    answer = await post(world, "devices", ROW, Prefer="return=representation")
    (row,) = await answer.json()
    assert {name: row[name] for name in ROW} == ROW
    assert (row["status"], row["last_seen_at"]) == ("offline", None)


async def test_a_client_may_choose_the_id_and_see_single_columns(world):
    id_ = "018f2b5e-0000-7000-8000-000000000001"
    headers = {"Prefer": "return=representation", "Accept": "application/vnd.pgrst.object+json"}
    answer = await post(world, "devices?select=id", ROW | {"id": id_}, **headers)
    assert await answer.json(content_type=None) == {"id": id_}


async def test_the_callers_trace_goes_on_into_the_command(world):
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    await post(world, "devices", ROW, traceparent=f"00-{trace_id}-00f067aa0ba902b7-01")
    assert world.bus.sent[0]["trace"].split("-")[1] == trace_id


async def test_an_array_registers_each_row(world):
    rows = [ROW | {"serial_number": f"ABC{n:05}"} for n in range(100)]
    answer = await post(world, 'devices?columns="serial_number"', rows, Prefer="return=representation")
    assert answer.status == 201
    assert [row["serial_number"] for row in await answer.json()] == [row["serial_number"] for row in rows]
    assert answer.headers["Drover-Position"] == "fleet=100"


async def test_an_array_with_one_bad_row_registers_nothing(world):
    answer = await post(world, "devices", [ROW, ROW | {"serial_number": "bad serial"}])
    body = await answer.json()
    assert (answer.status, body["code"]) == (400, "VALIDATION_ERROR")
    assert (body["details"]["field"], body["details"]["value"]) == ("[1].serial_number", "bad serial")
    assert world.bus.sent == []


async def test_an_array_with_a_taken_serial_says_what_was_registered(world):
    await world.register()
    answer = await post(world, "devices", [ROW | {"serial_number": "NEW00001"}, ROW])
    body = await answer.json()
    assert (answer.status, body["code"]) == (409, "23505")
    assert body["details"]["index"] == 1
    assert body["details"]["accepted"] == [0]


async def test_a_taken_serial_is_409(world):
    await world.register()
    answer = await post(world, "devices", ROW)
    body = await answer.json()
    assert (answer.status, body["code"], body["details"]["field"]) == (409, "23505", "serial_number")


async def test_a_pc_is_registered_changed_and_left_as_it_is(world):
    for capacity in (10, 15, 15):
        answer = await post(world, "pcs", {"id": "pc-9", "capacity": capacity}, Prefer="return=representation")
        (row,) = await answer.json()
        assert (answer.status, row["id"], row["capacity"]) == (201, "pc-9", capacity)


async def test_the_same_idempotency_key_gives_the_same_command_id(world):
    for _ in range(2):
        await post(world, "devices", ROW, **{"Idempotency-Key": "k1"})
    first, second = (sent["id"] for sent in world.bus.sent)
    assert first == second
    assert "~" in first


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.OVERLOADED, 503),
        (Code.UNAVAILABLE, 503),
        (Code.IDEMPOTENCY_MISMATCH, 422),
        (Code.TOO_LARGE, 413),
        (Code.INTERNAL, 500),
    ],
)
async def test_refusals_of_the_writer_become_http(world, code, status):
    world.bus.answer = Rejected(code, "no")
    answer = await post(world, "devices", ROW)
    body = await answer.json()
    assert (answer.status, body["code"]) == (status, code)
    assert ("Retry-After" in answer.headers) == (status == 503)


async def test_a_fault_of_ours_is_500_with_a_trace_and_no_more(world):
    world.bus.answer = RuntimeError("the secret cause")
    answer = await post(world, "devices", ROW)
    body = await answer.json()
    assert (answer.status, body["code"], body["message"]) == (500, "INTERNAL", "Internal error")
    assert len(body["details"]["trace_id"]) == 32
    assert "secret" not in await answer.text()


@pytest.mark.parametrize("path", ["devices", "pcs"])
async def test_the_key_of_the_phones_may_not_register(world, path):
    answer = await world.client.post(f"/rest/v1/{path}", json=ROW, headers=world.anon)
    assert (answer.status, (await answer.json())["code"]) == (403, "42501")
    assert world.bus.sent == []


@pytest.mark.parametrize(("select", "code"), [("id,nonsense", "42703"), ("id,jobs(*)", "PGRST200")])
async def test_a_select_that_cannot_be_answered_is_refused_before_anything_is_written(world, select, code):
    row = {"serial_number": "ABC12345", "group_id": "P1-G1", "pc_id": "pc-1"}
    headers = world.service | {"Prefer": "return=representation"}
    answer = await world.client.post(f"/rest/v1/devices?select={select}", json=row, headers=headers)
    assert (answer.status, (await answer.json())["code"]) == (400, code)
    assert len(world.roster) == 0


async def test_every_column_of_a_read_can_be_selected_from_a_write(world):
    row = {"serial_number": "ABC12345", "group_id": "P1-G1", "pc_id": "pc-1"}
    headers = world.service | {"Prefer": "return=representation"}
    answer = await world.client.post("/rest/v1/devices?select=id,updated_at", json=row, headers=headers)
    assert answer.status == 201
    assert (await answer.json())[0]["updated_at"] is not None


@pytest.mark.parametrize(
    ("accept", "code"), [("text/csv", "PGRST107"), ("application/vnd.pgrst.object+json", "PGRST116")]
)
async def test_a_form_that_cannot_be_given_is_refused_before_anything_is_written(world, accept, code):
    rows = [{"serial_number": serial, "group_id": "P1-G1", "pc_id": "pc-1"} for serial in ("ABC12345", "ABC12346")]
    headers = world.service | {"Prefer": "return=representation", "Accept": accept}
    answer = await world.client.post("/rest/v1/devices", json=rows, headers=headers)
    assert (answer.status, (await answer.json())["code"]) == (406, code)
    assert len(world.roster) == 0
