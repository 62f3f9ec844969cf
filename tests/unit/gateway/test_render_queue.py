"""Renders at the edge: requested, cancelled, released, run again. gfx_data is sealed at the door."""

from __future__ import annotations

from datetime import date
from random import Random

import msgspec
import pytest

from drover.domain.erasure import parse_sealed, token_of
from drover.domain.render import commands as c
from drover.readmodel.models import RELATIONS
from tests.unit.domain.render.world import hand_of
from tests.unit.gateway.render_office import GFX, KEYED, SHOW, open_render_office, opened

W1 = "worker-1"
COLUMNS = RELATIONS["render_queue"].columns
UNNAMED = {"single_fields": {"table_id": "Table 1"}}
"""gfx_data that does not say what After Effects calls its composition."""


@pytest.fixture
async def office():
    async with open_render_office() as office:
        yield office


# Requesting


@pytest.mark.req("RN-02")
async def test_a_render_is_requested_and_shown_as_it_was_recorded(office):
    row = {"composition_id": "comp_123", "gfx_data": GFX, "cue_item_id": "cue-7", "broadcast_date": "2026-03-05"}
    answer = await office.ask("POST", "render_queue", row | {"status": "pending"}, **SHOW)
    (shown,) = await answer.json()
    assert (answer.status, answer.headers["Drover-Position"]) == (201, "render=1")
    assert shown.keys() == COLUMNS.keys()
    assert {name: shown[name] for name in row} == row
    assert (shown["id"], shown["status"], shown["progress"], shown["recovery_count"]) == (1, "pending", 0, 0)
    assert shown["composition_name"] == "_MAIN Mini Chip Count", "as gfx_data says"
    (sent,) = office.bus.sent
    assert (sent["by"], sent["command"].broadcast_date) == ("service_role", date(2026, 3, 5))


@pytest.mark.req("RN-17")
async def test_gfx_data_is_sealed_before_the_command_and_bound_to_its_render(office):
    for _ in range(2):
        await office.ask("POST", "render_queue", {"composition_id": "comp_123", "gfx_data": GFX})
    first, second = office.bus.commands
    assert b"PHIL" not in msgspec.json.encode(first)
    assert (first.gfx_id, first.gfx_data) != (second.gfx_id, second.gfx_data)
    assert msgspec.json.decode(await opened(office, first.gfx_id, first.gfx_data)) == GFX
    assert parse_sealed(first.gfx_data).ref.token == token_of("render", first.gfx_id)
    assert parse_sealed(second.gfx_data).ref.token == token_of("render", second.gfx_id)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "_MAIN Mini Chip Count"),
        ({"composition_name": "Other"}, "Other"),
        ({"gfx_data": {"slots": []}}, "Described"),
        ({"gfx_data": {"composition_name": 5}}, "Described"),
        ({"gfx_data": {}, "composition_id": "comp_9"}, "comp_9"),
        ({"gfx_data": {}, "composition_id": 9}, "9"),
    ],
)
async def test_the_name_of_the_composition_comes_from_whoever_says_it_first(office, fields, name):
    office.bus.do(c.DescribeComposition("comp_123", name="Described"))
    for unnamed in ("comp_9", "9"):
        office.bus.do(c.DescribeComposition(unnamed))
    await office.request(**fields)
    assert office.render().composition == name


@pytest.mark.req("RN-06", "RN-07")
async def test_a_composition_that_is_not_known_is_refused_by_field_and_value(office):
    office.bus.do(c.DescribeComposition("comp_123", name="_MAIN Mini Chip Count"))
    answer = await office.ask("POST", "render_queue", {"composition_id": "comp_132", "gfx_data": UNNAMED})
    refusal = await answer.json()
    assert (answer.status, refusal["code"]) == (400, "VALIDATION_ERROR")
    assert refusal["details"] == {"field": "composition_id", "value": "comp_132"}
    assert "comp_132" in refusal["message"] and "aep_compositions" in refusal["message"]
    assert office.bus.queue.renders == {}


@pytest.mark.req("RN-06", "RN-07")
async def test_of_several_rows_the_refusal_says_which_one_is_not_known(office):
    office.bus.do(c.DescribeComposition("comp_123"))
    rows = [{"composition_id": id_, "gfx_data": UNNAMED} for id_ in ("comp_123", "comp_132")]
    answer = await office.ask("POST", "render_queue", rows)
    details = (await answer.json())["details"]
    assert (answer.status, details["field"], details["accepted"]) == (400, "[1].composition_id", [0])


@pytest.mark.req("RN-06", "RN-07")
async def test_a_row_as_003_writes_it_is_taken_whatever_is_mapped(office):
    office.bus.do(c.DescribeComposition("another", name="_SUB Payouts"))
    await office.request(composition_id="comp_123", gfx_data=GFX)
    assert office.render().composition == "_MAIN Mini Chip Count"


@pytest.mark.req("DI-19")
@pytest.mark.parametrize("cue", [42, "42", "cue-7", -(2**63), None])
async def test_a_cue_item_is_kept_as_it_was_written(office, cue):
    row = {"composition_id": "c", "gfx_data": GFX, "cue_item_id": cue}
    answer = await office.ask("POST", "render_queue?select=cue_item_id", row, **SHOW)
    assert await answer.json() == [{"cue_item_id": cue}]
    assert office.render().cue_item_id == cue


async def test_a_cue_item_is_a_number_of_64_bits_at_most(office):
    answer = await office.ask("POST", "render_queue", {"composition_id": "c", "gfx_data": GFX, "cue_item_id": 2**63})
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, "cue_item_id")


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"gfx_data": GFX}, "composition_id"),
        ({"composition_id": "c"}, "gfx_data"),
        ({"composition_id": "c", "gfx_data": "text"}, "gfx_data"),
        ({"composition_id": "c", "gfx_data": [GFX]}, "gfx_data"),
        ({"composition_id": "", "gfx_data": {}}, "composition_id"),
        ({"composition_id": "c", "gfx_data": {}, "composition_name": "x" * 201}, "composition_name"),
        ({"composition_id": "c", "gfx_data": {}, "broadcast_date": "tomorrow"}, "broadcast_date"),
        ({"composition_id": "c", "gfx_data": {}, "status": "completed"}, "status"),
        ({"composition_id": "c", "gfx_data": {}, "colour": "red"}, "colour"),
        ({"composition_id": "c", "gfx_data": {"slots": {"1": {}}}}, "gfx_data.slots"),
        ({"composition_id": "c", "gfx_data": {"slots": [5]}}, "gfx_data.slots[0]"),
        (
            {"composition_id": "c", "gfx_data": {"slots": [{"fields": {"name": ["x"]}}]}},
            "gfx_data.slots[0].fields.name",
        ),
        ({"composition_id": "c", "gfx_data": {"single_fields": {"x": {"y": 1}}}}, "gfx_data.single_fields.x"),
        ({"composition_id": "c", "gfx_data": {"single_fields": {"x": "a\0b"}}}, "gfx_data.single_fields.x"),
    ],
)
@pytest.mark.req("RN-02")
async def test_bad_input_is_refused_at_the_door_by_its_place(office, row, field):
    answer = await office.ask("POST", "render_queue", row)
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, field)
    answer = await office.ask("POST", "render_queue", [{"composition_id": "c", "gfx_data": GFX}, row])
    assert (answer.status, (await answer.json())["details"]["field"]) == (400, f"[1].{field}")
    assert office.bus.sent == [], "also of the rows before it"


async def test_large_numbers_are_kept_to_the_last_digit(office):
    gfx = {"single_fields": {"chips": 12345678901234567890123}}
    assert office.render(await office.request(gfx_data=gfx))
    (command,) = office.bus.commands
    assert msgspec.json.decode(await opened(office, command.gfx_id, command.gfx_data)) == gfx


async def test_gfx_data_that_is_too_large_is_413(office):
    random = Random(1)
    gfx = {"single_fields": {f"f{number}": random.randbytes(4500).hex() for number in range(25)}}
    answer = await office.ask("POST", "render_queue", {"composition_id": "c", "gfx_data": gfx})
    assert (answer.status, office.bus.sent) == (413, [])


async def test_several_renders_with_one_request_are_numbered_in_its_order(office):
    rows = [{"composition_id": f"c{number}", "gfx_data": {}} for number in range(5)]
    answer = await office.ask("POST", "render_queue?select=id,composition_id", rows, **SHOW)
    assert await answer.json() == [{"id": n + 1, "composition_id": f"c{n}"} for n in range(5)]


async def test_a_repeat_with_the_same_key_is_one_render(office):
    row = {"composition_id": "c", "gfx_data": GFX}
    for _ in range(2):
        answer = await office.ask("POST", "render_queue?select=id,gfx_data", row, **SHOW, **KEYED)
        assert await answer.json() == [{"id": 1, "gfx_data": GFX}]
    assert len(office.bus.queue.renders) == 1


async def test_without_sealing_keys_nothing_is_taken_in():
    async with open_render_office(DROVER_SEALING_KEYS="") as office:
        answer = await office.ask("POST", "render_queue", {"composition_id": "c", "gfx_data": GFX})
        assert (answer.status, "DROVER_SEALING_KEYS" in (await answer.json())["message"]) == (503, True)
        assert office.bus.sent == []


# Who may


@pytest.mark.req("RN-22")
@pytest.mark.parametrize("role", ["anon", "authenticated"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "render_queue"),
        ("PATCH", "render_queue?id=eq.1"),
        ("GET", "render_queue"),
        ("GET", "render_queue_audit"),
        ("GET", "render_figures"),
        ("POST", "aep_field_mapping"),
        ("PATCH", "aep_field_mapping?id=eq.1"),
        ("DELETE", "aep_field_mapping?id=eq.1"),
        ("POST", "aep_compositions"),
        ("DELETE", "aep_compositions?id=eq.c"),
        ("POST", "rpc/clear_render_cache"),
    ],
)
async def test_the_key_in_every_phone_and_strangers_may_do_nothing_of_this(office, role, method, path):
    answer = await office.ask(method, path, {}, role=role)
    assert (answer.status, (await answer.json())["code"]) == (403, "42501")
    assert (office.bus.sent, office.pool.asked, office.said) == ([], [], [])


@pytest.mark.req("RN-22")
async def test_operators_write_and_viewers_do_not(office):
    row = {"composition_id": "c", "gfx_data": GFX}
    assert (await office.ask("POST", "render_queue", row, role="operator")).status == 201
    assert (await office.ask("POST", "render_queue", row, role="viewer")).status == 403
    assert (await office.ask("PATCH", "render_queue?id=eq.1", {"status": "cancelled"}, role="viewer")).status == 403
    assert office.render().status == "pending"


# Cancelling


@pytest.mark.req("RN-02")
async def test_a_render_is_cancelled_by_its_number(office):
    await office.request()
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "cancelled"})
    assert (answer.status, await answer.read(), answer.headers["Drover-Position"]) == (204, b"", "render=2")
    assert office.bus.commands[-1] == c.CancelRender(1)
    assert office.render().status == "cancelled"


@pytest.mark.req("RN-02")
async def test_one_that_has_ended_is_409_and_one_that_never_was_404(office):
    await office.request()
    office.bus.do(c.CancelRender(1))
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "cancelled"})
    assert (answer.status, (await answer.json())["code"]) == (409, "CONFLICT")
    answer = await office.ask("PATCH", "render_queue?id=eq.9", {"status": "cancelled"})
    assert (answer.status, (await answer.json())["code"]) == (404, "NOT_FOUND")


async def test_of_several_each_stands_for_itself(office):
    for _ in range(3):
        await office.request()
    path = "render_queue?id=in.(1,+3,9,01)&select=id,status"
    answer = await office.ask("PATCH", path, {"status": "cancelled"}, **SHOW)
    assert await answer.json() == [{"id": 1, "status": "cancelled"}, {"id": 3, "status": "cancelled"}]
    answer = await office.ask("PATCH", "render_queue?id=in.(1,2)", {"status": "cancelled"})
    assert (answer.status, (await answer.json())["details"]["accepted"]) == (409, ["2"])


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("render_queue?id=eq.one", "22P02"),
        ("render_queue?id=eq.99999999999", "22003"),
        ("render_queue?id=eq.-1", "VALIDATION_ERROR"),
        ("render_queue", "VALIDATION_ERROR"),
        (f"render_queue?id=in.({','.join(map(str, range(1001)))})", "PGRST100"),
    ],
)
async def test_a_patch_that_names_no_render_is_refused(office, path, code):
    answer = await office.ask("PATCH", path, {"status": "cancelled"})
    assert (answer.status, (await answer.json())["code"]) == (400, code)


@pytest.mark.parametrize("body", [{"progress": 101}, {"status": "done"}, {"error_message": "oh"}, {}, [], "x"])
@pytest.mark.req("RN-22")
async def test_a_change_that_means_nothing_is_refused_and_the_answer_says_what_can_be_written(office, body):
    await office.request()
    office.bus.sent.clear()
    answer = await office.ask("PATCH", "render_queue?id=eq.1", body)
    error = await answer.json()
    assert (answer.status, error["code"]) == (400, "VALIDATION_ERROR")
    assert "cancelled, or pending" in error["hint"]
    assert office.bus.sent == []


async def test_a_render_cannot_be_deleted(office):
    answer = await office.ask("DELETE", "render_queue?id=eq.1")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, PATCH, POST")


# Taking back and running again


@pytest.mark.req("RN-21")
async def test_pending_takes_a_render_from_the_worker_that_is_stuck_with_it(office):
    await office.request()
    office.bus.do(c.Claim(W1))
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "pending"}, **SHOW)
    (row,) = await answer.json()
    assert (answer.status, row["status"], row["worker_id"], row["recovery_count"]) == (200, "pending", None, 1)
    assert office.bus.commands[-1] == c.ReleaseRender(1)


async def test_pending_on_what_is_pending_changes_nothing(office):
    await office.request()
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "pending"})
    assert answer.status == 204
    assert "Drover-Position" not in answer.headers


@pytest.mark.req("RN-21")
async def test_pending_runs_a_failed_render_again(office):
    await office.request()
    office.bus.do(c.Claim(W1))
    office.bus.do(hand_of(office.bus.scenario).fails("TEMPLATE_MISSING"))
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "pending"})
    assert answer.status == 204
    assert office.bus.commands[-2:] == [c.ReleaseRender(1), c.RerunRender(1)]
    assert (office.render().status, office.render().recovery_count) == ("pending", 0)


async def test_a_completed_render_is_409_and_says_why(office):
    await office.request()
    office.bus.do(c.Claim(W1))
    hand = hand_of(office.bus.scenario)
    for said in (hand.submits(), hand.has_rendered(), hand.completes()):
        office.bus.do(said)
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "pending"})
    assert answer.status == 409
    assert "only a failed or cancelled one can be run again" in (await answer.json())["message"]


@pytest.mark.req("RN-21")
async def test_a_repeat_with_the_same_key_does_not_take_it_from_its_next_worker(office):
    await office.request()
    office.bus.do(c.Claim(W1))
    office.bus.do(hand_of(office.bus.scenario).fails("TEMPLATE_MISSING"))
    again = ("PATCH", "render_queue?id=eq.1", {"status": "pending"})
    assert (await office.ask(*again, **KEYED)).status == 204
    office.bus.do(c.Claim(W1))
    assert (await office.ask(*again, **KEYED)).status == 204
    assert office.render().status == "preparing"
    assert (await office.ask(*again, **{"Idempotency-Key": "another"})).status == 204
    assert office.render().status == "pending", "another wish is another wish"


# What a write shows


async def test_a_change_is_shown_over_the_row_that_is_stored(office):
    await office.request()
    sealed = office.bus.commands[0]
    office.pool.rows = [
        {"id": 1, "composition_id": "comp_123", "status": "pending", "gfx_data": f"{sealed.gfx_id} {sealed.gfx_data}"}
    ]
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "cancelled"}, **SHOW)
    (row,) = await answer.json()
    assert row.keys() == COLUMNS.keys()
    assert (row["id"], row["composition_id"], row["status"], row["gfx_data"]) == (1, "comp_123", "cancelled", GFX)
    assert office.positions.waits == [("render", 2, 1.0)], "for the position that was just written"


async def test_while_the_database_is_away_a_change_is_done_and_shown_by_what_it_recorded(office):
    await office.request()
    answer = await office.ask("PATCH", "render_queue?id=eq.1", {"status": "cancelled"}, **SHOW)
    (row,) = await answer.json()
    assert (answer.status, row["id"], row["status"], row["composition_id"]) == (200, 1, "cancelled", None)
    assert office.pool.asked
