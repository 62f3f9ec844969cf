"""The render queue as a real Supabase client (`postgrest`) sees it, on real servers; the test is the worker."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest
from postgrest import AsyncPostgrestClient, CountMethod
from postgrest.exceptions import APIError
from zstandard import FRAME_HEADER, ZstdDecompressor

from drover.archive.creating import create
from drover.archive.folder_store import FolderStore
from drover.archive.reading import ends_of, placed_commits
from drover.archive.text import event_lines
from drover.bus.messages import Accepted
from drover.domain.decider import Command
from drover.domain.render import RENDER
from drover.domain.render import commands as c
from drover.domain.render.polling import Pace
from drover.eventlog.jetstream import JetStreamLog
from drover.eventlog.log import Partition
from drover.render.composition_cache import CompositionCache
from drover.render.queue import Queue
from drover.render.workers import Workers
from drover.testing.waiting import eventually
from drover.writer.fold import Fold, encode_image
from tests.unit.domain.render.world import Hand

GFX = {
    "composition_name": "_MAIN Mini Chip Count",
    "slots": [{"slot_number": 1, "fields": {"name": "PHIL IVEY", "stack": "250", "country": "대한민국"}}],
    "single_fields": {"table_id": "Table 1", "blinds": 12345678901234567890123},
}
W1 = "worker-1"


@pytest.fixture
async def office(farm) -> AsyncIterator[AsyncPostgrestClient]:
    headers = {"apikey": farm.service_key, "Authorization": f"Bearer {farm.service_key}"}
    async with AsyncPostgrestClient(farm.url, headers=headers) as office:
        yield office


@pytest.fixture
def worker(farm):
    """Says something as a worker would, and is told that it was taken down."""

    async def say(command: Command) -> Accepted:
        outcome = await farm.bus.send("render", command, by=f"worker:{W1}")
        assert isinstance(outcome, Accepted), outcome
        await farm.read("render")
        return outcome

    return say


@pytest.fixture
def request_render(farm, office):
    async def request(**fields: object) -> dict[str, object]:
        """As it was shown; it can be read by then."""
        row = {"composition_id": "comp_123", "gfx_data": GFX, "cue_item_id": 7, "status": "pending"} | fields
        made = (await office.table("render_queue").insert(row).execute()).data[0]
        await farm.read("render")
        return made

    return request


async def refused(call) -> APIError:
    with pytest.raises(APIError) as error:
        await call.execute()
    return error.value


@pytest.mark.req("RN-01", "RN-02", "RN-18", "RN-25")
async def test_a_render_is_requested_worked_on_and_read_back(office, worker, request_render):
    made = await request_render(broadcast_date="2026-03-05")
    assert (made["id"], made["status"], made["gfx_data"], made["cue_item_id"]) == (1, "pending", GFX, 7)

    # What 003 §3.2 asks for, as it asks for it.
    wanted = office.table("render_queue").select("id,composition_id,gfx_data,cue_item_id").eq("status", "pending")
    (row,) = (await wanted.order("created_at").limit(1).execute()).data
    assert row == {"id": 1, "composition_id": "comp_123", "gfx_data": GFX, "cue_item_id": 7}

    hand = Hand(1, 1, W1)
    await worker(c.Claim(W1))
    for said in (hand.submits(), hand.progresses(45), hand.has_rendered()):
        await worker(said)
    await worker(hand.completes())
    row = (await office.table("render_queue").select("*").eq("id", 1).single().execute()).data
    assert (row["status"], row["progress"], row["worker_id"], row["nexrender_job_id"]) == ("completed", 100, W1, "nx-1")
    assert (row["broadcast_date"], row["gfx_data"], row["gfx_data_error"]) == ("2026-03-05", GFX, None)
    assert row["duration_seconds"] >= 0 and row["completed_at"] >= row["started_at"] >= row["created_at"]
    assert {name: row[name] for name in ("composition_id", "composition_name", "created_at")} == {
        name: made[name] for name in ("composition_id", "composition_name", "created_at")
    } | {"created_at": row["created_at"]}

    audit = await (
        office.table("render_queue_audit")
        .select("status_from,status_to,worker_id,changed_by,render_queue(composition_name,gfx_data)")
        .eq("render_queue_id", 1)
        .order("id")
        .execute()
    )
    assert [(row["status_from"], row["status_to"], row["changed_by"]) for row in audit.data] == [
        (None, "pending", "service_role"),
        ("pending", "preparing", f"worker:{W1}"),
        ("preparing", "rendering", f"worker:{W1}"),
        ("rendering", "uploading", f"worker:{W1}"),
        ("uploading", "completed", f"worker:{W1}"),
    ]
    assert audit.data[0]["render_queue"] == {"composition_name": "_MAIN Mini Chip Count", "gfx_data": GFX}
    stages = (await office.table("render_stages").select("stage,verdict").order("number").execute()).data
    assert [stage["stage"] for stage in stages] == ["preparing", "rendering", "uploading"]


@pytest.mark.req("RN-06", "RN-07")
async def test_a_composition_that_is_not_known_is_refused_unless_the_row_names_it(farm, office, request_render):
    await office.table("aep_compositions").insert({"id": "payouts", "name": "_SUB Payouts"}).execute()
    error = await refused(office.table("render_queue").insert({"composition_id": "payuots", "gfx_data": {}}))
    assert (error.code, error.details) == ("VALIDATION_ERROR", {"field": "composition_id", "value": "payuots"})
    assert "aep_compositions" in error.message
    named = await request_render()  # as 003 writes it: gfx_data has composition_name
    assert (named["composition_id"], named["composition_name"]) == ("comp_123", "_MAIN Mini Chip Count")
    rows = (await office.table("render_queue").select("id").execute()).data
    assert rows == [{"id": named["id"]}]


@pytest.mark.req("RN-02", "RN-21")
async def test_a_render_is_cancelled_released_and_run_again_by_its_number(farm, office, worker, request_render):
    for _ in range(3):
        await request_render()

    cancelled = (await office.table("render_queue").update({"status": "cancelled"}).eq("id", 1).execute()).data[0]
    assert (cancelled["status"], cancelled["composition_id"], cancelled["gfx_data"]) == ("cancelled", "comp_123", GFX)
    conflict = await refused(office.table("render_queue").update({"status": "cancelled"}).eq("id", 1))
    assert (conflict.code, conflict.details["status"]) == ("CONFLICT", "cancelled")

    await worker(c.Claim(W1))
    released = (await office.table("render_queue").update({"status": "pending"}).eq("id", 2).execute()).data[0]
    assert (released["status"], released["worker_id"], released["recovery_count"]) == ("pending", None, 1)

    again = (await office.table("render_queue").update({"status": "pending"}).eq("id", 1).execute()).data[0]
    assert (again["status"], again["recovery_count"]) == ("pending", 0)
    await farm.read("render")
    pending = await office.table("render_queue").select("id", count=CountMethod.exact).eq("status", "pending").execute()
    assert pending.count == 3
    audit = await office.table("render_queue_audit").select("reason").eq("status_to", "pending").order("id").execute()
    assert [row["reason"] for row in audit.data] == [None, None, None, "released", "rerun"]

    queue = office.table("render_queue")
    assert (await refused(queue.update({"status": "cancelled"}).eq("id", 99))).code == "NOT_FOUND"
    assert (await refused(queue.update({"progress": 5}).eq("id", 2))).code == "CONFLICT", "no worker holds it"


@pytest.mark.req("DI-19")
async def test_a_cue_item_comes_back_as_it_was_written_and_is_found_by_its_text(office, request_render):
    for cue in (7, "7", "cue-7", None):
        await request_render(cue_item_id=cue)
    queue = office.table("render_queue")
    rows = (await queue.select("id,cue_item_id,other:cue_item_id,text:cue_item_id::text").order("id").execute()).data
    assert [row["cue_item_id"] for row in rows] == [row["other"] for row in rows] == [7, "7", "cue-7", None]
    assert [row["text"] for row in rows] == ["7", "7", "cue-7", None]
    for found, ids in (
        (queue.select("id").eq("cue_item_id", 7), [1, 2]),
        (queue.select("id").in_("cue_item_id", ["7", "cue-7"]), [1, 2, 3]),
        (queue.select("id").ilike("cue_item_id", "*CUE*"), [3]),
        (queue.select("id").is_("cue_item_id", "null"), [4]),
        (queue.select("id").order("cue_item_id", desc=True, nullsfirst=False).limit(1), [3]),
    ):
        assert [row["id"] for row in (await found.order("id").execute()).data] == ids
    cancelled = await queue.update({"status": "cancelled"}).eq("cue_item_id", 7).execute()
    assert [(row["id"], row["cue_item_id"]) for row in cancelled.data] == [(1, 7), (2, "7")]


async def test_fields_are_mapped_upserted_and_deleted(farm, office):
    rows = [
        {"composition_id": "comp_123", "field_name": f"Slot {number} - name", "layer_name": f"Name {number}"}
        for number in range(1, 11)
    ]
    made = (await office.table("aep_field_mapping").insert(rows).execute()).data
    assert [row["id"] for row in made] == list(range(1, 11))
    assert (await refused(office.table("aep_field_mapping").insert(rows[0]))).code == "23505"

    changed = [row | {"layer_name": "X"} for row in rows[:2]] + [rows[0] | {"field_name": "Single - x"}]
    upsert = office.table("aep_field_mapping").upsert(changed, on_conflict="composition_id,field_name")
    assert [row["id"] for row in (await upsert.execute()).data] == [1, 2, 11]

    await farm.read("render")
    deleted = (await office.table("aep_field_mapping").delete().in_("id", [2, 3, 99]).execute()).data
    assert [(row["id"], row["layer_name"]) for row in deleted] == [(2, "X"), (3, "Name 3")]
    await farm.read("render")
    left = (await office.table("aep_field_mapping").select("id,layer_name").order("id").execute()).data
    assert [row["id"] for row in left] == [1, *range(4, 12)]

    described = {"id": "comp_123", "name": "Chips", "template": "chips.aep"}
    await office.table("aep_compositions").upsert(described).execute()
    await office.table("aep_compositions").update({"template": "new.aep"}).eq("id", "comp_123").execute()
    await farm.read("render")
    query = office.table("aep_compositions").select("*,aep_field_mapping(id)").single()
    composition = (await query.execute()).data
    assert (composition["name"], composition["template"], composition["fields"]) == ("Chips", "new.aep", 9)
    assert len(composition["aep_field_mapping"]) == 9
    await office.table("aep_compositions").delete().eq("id", "comp_123").execute()
    await farm.read("render")
    assert (await office.table("aep_field_mapping").select("id").execute()).data == []


@pytest.mark.req("RN-17")
async def test_gfx_data_cannot_be_searched_and_nothing_of_it_is_in_the_log(office, request_render):
    await request_render()
    error = await refused(office.table("render_queue").select("id").like("gfx_data", "*IVEY*"))
    assert error.code == "PGRST127"
    events = (await office.table("events").select("context,type,data").eq("context", "render").execute()).data
    assert [event["type"] for event in events] == ["TermStarted", "RenderRequested"]
    assert "IVEY" not in str(events)


@pytest.mark.req("RN-17")
async def test_nothing_of_gfx_data_is_in_a_snapshot_an_export_or_an_archive(farm, request_render, tmp_path):
    await request_render()
    log, fold, exported = JetStreamLog(farm.client, Partition("render")), Fold(RENDER), []
    async for placed in placed_commits([log], await ends_of([log]), 0):
        fold.apply(placed.commit)
        exported += event_lines("render", placed)
    assert fold.state.renders[1].gfx_data, "the input is there, sealed"
    await create(FolderStore(tmp_path), [log])
    archived = b"".join(unpacked(path) for path in tmp_path.rglob("*") if path.is_file())
    for stored in (encode_image(fold), b"".join(exported), archived):
        assert b"comp_123" in stored, "what is not secret can be found, so a secret could be"
        for secret in ("PHIL IVEY", "대한민국", "Table 1", "12345678901234567890123"):
            assert secret.encode() not in stored
            assert secret.encode("utf-16-le") not in stored
            assert base64.b64encode(secret.encode())[:-4] not in stored


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return ZstdDecompressor().stream_reader(data).read() if data.startswith(FRAME_HEADER) else data


@pytest.mark.req("RN-13")
async def test_clearing_the_cache_makes_every_worker_forget(farm, office):
    await office.table("aep_compositions").insert({"id": "comp_123", "name": "Chips"}).execute()
    machines = [SimpleNamespace(compositions=CompositionCache(), elapsed=time.monotonic) for _ in range(2)]
    queue = Queue(farm.bus, W1)
    version = (await queue.composition("comp_123")).version

    async def remembered():
        return [await machine.compositions.get(queue, "comp_123", version) for machine in machines]

    async with AsyncExitStack() as stack:
        for number, machine in enumerate(machines):
            crew = Workers(farm.bus, machine, None, [f"worker-{number}"], Pace)
            await stack.enter_async_context(crew.nudges.running(farm.client))
        await farm.client.flush()
        first = await remembered()
        assert all(before is after for before, after in zip(first, await remembered(), strict=True))
        assert (await office.rpc("clear_render_cache", {}).execute()).data == {"asked": True}

        async def have_forgotten():
            return not any(before is after for before, after in zip(first, await remembered(), strict=True))

        assert await eventually(have_forgotten)


@pytest.mark.req("EV-04")
async def test_each_attempt_at_a_render_is_rows_with_its_run_and_its_number(farm, office, worker, request_render):
    await request_render()
    late, hand = Hand(1, 1, W1), Hand(1, 2, "worker-2")
    await worker(c.Claim(W1))
    await worker(late.submits())
    await worker(c.ReleaseRender(1))
    await worker(c.Claim("worker-2"))
    await worker(hand.submits())
    refused = await farm.bus.send("render", late.completes(), by=f"worker:{W1}")
    assert refused.code == "STALE_ATTEMPT"
    for said in (hand.has_rendered(), hand.completes()):
        await worker(said)
    rows = office.table("renders_event").select("event_type,attempt,run,worker_id").eq("render_queue_id", 1).order("id")
    assert [tuple(row.values()) for row in (await rows.execute()).data] == [
        ("CREATED", 1, 0, None),
        ("SENT", 1, 1, W1),
        ("ACKED", 1, 1, W1),
        ("ROLLED_BACK", 1, 1, W1),
        ("SENT", 1, 2, "worker-2"),
        ("ACKED", 1, 2, "worker-2"),
        ("STALE_REPORT", 1, 1, W1),
        ("SUCCEEDED", 1, 2, "worker-2"),
    ]
    embedded = office.table("render_queue").select("id,renders_event(event_type)").eq("id", 1).single()
    assert len((await embedded.execute()).data["renders_event"]) == 8


@pytest.mark.req("RN-14")
async def test_the_figures_are_one_row_for_whoever_asks(office, worker, request_render):
    for _ in range(3):
        await request_render()
    await worker(c.Claim(W1))
    await worker(c.ReportFault(1, 1, W1, "TEMPLATE_MISSING", "no such file"))
    figures = (await office.table("render_figures").select("*").single().execute()).data
    assert figures == {"pending_count": 2, "avg_duration_seconds": None, "success_rate": 0, "active_workers": 0}
    alerts = (await office.table("alerts").select("kind,context").eq("context", "render").execute()).data
    assert alerts == [{"kind": "template_missing", "context": "render"}]


async def test_a_filter_on_a_column_that_only_the_edge_knows_is_refused_in_each_way(farm):
    headers = {"apikey": farm.service_key}
    async with aiohttp.ClientSession(headers=headers) as session:
        for query in ("gfx_data=is.null", "order=gfx_data_error", "select=gfx_data->slots", "broadcast_date=eq.never"):
            async with session.get(f"{farm.url}/render_queue?{query}") as answer:
                assert answer.status == 400, query
