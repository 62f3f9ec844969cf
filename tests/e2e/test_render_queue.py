"""The real `supabase-py` walks through the render queue, as the Sub Dashboard of 003 does; the test is the worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import aiohttp
import pytest
from postgrest.exceptions import APIError
from supabase import acreate_client

from drover.bus.client import CommandBus
from drover.bus.connection import connected
from drover.bus.messages import Accepted
from drover.bus.telemetry import TelemetryOut
from drover.domain.decider import Command
from drover.domain.render import commands as c
from drover.testing.waiting import eventually
from tests.e2e.up import Platform

WORKER = "ae-worker-1"
GFX = {
    "composition_name": "_MAIN Mini Chip Count",
    "slots": [{"slot_number": 1, "fields": {"name": "PHIL IVEY", "stack": "250", "country": "United States"}}],
    "single_fields": {"table_id": "Table 1", "round_info": "Final Table"},
}


class Studio:
    """A dashboard with the service key, and a worker that does as it is told."""

    def __init__(self, url: str, office, phone, bus: CommandBus, telemetry: TelemetryOut) -> None:
        self.url = url
        self.office = office
        self.phone = phone
        self.doing: dict[str, int] | None = None
        """What the worker says of itself, all the time."""
        self._telemetry = telemetry
        self._bus = bus

    async def says(self, command: Command) -> Accepted:
        outcome = await self._bus.send("render", command, by=f"worker:{WORKER}")
        assert isinstance(outcome, Accepted), outcome
        return outcome

    async def shows(self, relation: str, **wanted):
        """The row, once it is so."""

        async def row():
            if self.doing is not None:
                self._telemetry.beat(WORKER, datetime.now(UTC), self.doing)
            query = self.office.table(relation).select("*")
            if "id" in wanted:
                query = query.eq("id", wanted["id"])
            found = (await query.execute()).data
            return next((one for one in found if all(one[name] == value for name, value in wanted.items())), None)

        return await eventually(row)


@pytest.fixture
async def studio(start) -> AsyncIterator[Studio]:
    platform: Platform = await start()
    keys = platform.credentials
    office = await acreate_client(platform.url, keys["service_key"])
    phone = await acreate_client(platform.url, keys["anon_key"])
    async with connected(keys["nats_url"], WORKER) as client:
        telemetry = TelemetryOut(client, "render", WORKER)
        async with telemetry.running():
            yield Studio(platform.url, office, phone, CommandBus(client), telemetry)


async def refused(call) -> APIError:
    with pytest.raises(APIError) as error:
        await call.execute()
    return error.value


@pytest.mark.req("RN-01", "RN-02", "RN-14", "RN-17", "RN-18", "RN-21", "RN-22", "RN-25")
async def test_supabase_py_walks_through_the_render_queue(studio):
    queue = studio.office.table("render_queue")

    # Requested as 003 §4.2 does it, and read as §3.2 does it.
    wanted = {"composition_id": "comp_123", "gfx_data": GFX, "cue_item_id": 7, "status": "pending"}
    made = (await queue.insert(wanted).execute()).data[0]
    assert (made["id"], made["status"], made["gfx_data"], made["composition_name"]) == (
        1,
        "pending",
        GFX,
        GFX["composition_name"],
    )
    await studio.shows("render_queue", id=1, status="pending", gfx_data=GFX)
    assert (await refused(queue.insert(wanted | {"gfx_data": {"slots": [5]}}))).details["field"] == "gfx_data.slots[0]"
    assert (await refused(studio.phone.table("render_queue").insert(wanted))).code == "42501"
    assert (await refused(studio.phone.table("render_queue").select("id"))).code == "42501"

    # A worker claims it and is stuck with it: an operator takes it back (003 §10.2).
    await studio.says(c.Claim(WORKER))
    await studio.shows("render_queue", id=1, status="preparing", worker_id=WORKER)
    released = (await queue.update({"status": "pending"}).eq("id", 1).execute()).data[0]
    assert (released["status"], released["worker_id"], released["recovery_count"]) == ("pending", None, 1)

    # The next run is completed; its progress is seen between two events as well.
    run = (1, (await studio.says(c.Claim(WORKER))).result["run"], WORKER)
    await studio.says(c.ReportSubmitted(*run, "job_abc123"))
    await studio.says(c.ReportProgress(*run, 40))
    studio.doing = {"render_id": 1, "progress": 45}
    await studio.shows("render_queue", id=1, status="rendering", progress=45, nexrender_job_id="job_abc123")
    await studio.shows("render_workers", worker_id=WORKER, status="busy", render_queue_id=1)
    await studio.shows("render_figures", active_workers=1, pending_count=0)
    await studio.says(c.ReportProgress(*run, 90, "encoding"))
    await studio.says(c.ReportRendered(*run))
    await studio.says(c.ReportCompleted(*run, "/nas/2026-03-05/x_1.mp4", 200_000, "ab" * 32, "h264", 1920, 1080))
    done = await studio.shows("render_queue", id=1, status="completed", progress=100)
    assert done["output_file_path"] == "/nas/2026-03-05/x_1.mp4"
    assert done["completed_at"] >= done["started_at"] >= done["created_at"]
    assert min(done[f"{stage}_seconds"] for stage in ("preparing", "rendering", "encoding", "uploading")) >= 0
    assert (await refused(queue.update({"status": "cancelled"}).eq("id", 1))).code == "CONFLICT"
    assert (await refused(queue.update({"status": "pending"}).eq("id", 1))).code == "CONFLICT"

    # The history of it is complete, and what it took in each stage is judged.
    audit = await (
        studio.office.table("render_queue_audit")
        .select("status_from,status_to,changed_by,reason")
        .eq("render_queue_id", 1)
        .order("id")
        .execute()
    )
    assert [(row["status_to"], row["changed_by"], row["reason"]) for row in audit.data] == [
        ("pending", "service_role", None),
        ("preparing", f"worker:{WORKER}", None),
        ("pending", "service_role", "released"),
        ("preparing", f"worker:{WORKER}", None),
        ("rendering", f"worker:{WORKER}", None),
        ("encoding", f"worker:{WORKER}", None),
        ("uploading", f"worker:{WORKER}", None),
        ("completed", f"worker:{WORKER}", None),
    ]
    stages = await studio.office.table("render_queue").select("render_stages(stage,verdict)").eq("id", 1).execute()
    assert {row["stage"] for row in stages.data[0]["render_stages"]} == {
        "preparing",
        "rendering",
        "encoding",
        "uploading",
    }
    figures = (await studio.office.table("render_figures").select("*").single().execute()).data
    assert (figures["success_rate"], figures["pending_count"]) == (100, 0)

    # Another one is cancelled, and run again.
    await queue.insert(wanted).execute()
    assert (await queue.update({"status": "cancelled"}).eq("id", 2).execute()).data[0]["status"] == "cancelled"
    assert (await queue.update({"status": "pending"}).eq("id", 2).execute()).data[0]["status"] == "pending"


@pytest.mark.req("RN-14")
async def test_prometheus_finds_the_figures_of_the_queue(studio):
    async def shown():
        async with session.get(f"{studio.url}/metrics") as answer:
            return [
                line for line in (await answer.text()).splitlines() if line.startswith(("render_queue_", "ae_worker"))
            ]

    async with aiohttp.ClientSession() as session:
        found = await eventually(shown, 60)
    assert found == ["render_queue_pending_count 0.0", "ae_worker_active_count 0.0"]


@pytest.mark.req("RN-06", "RN-13")
async def test_supabase_py_administers_compositions_and_fields(studio):
    mapping = studio.office.table("aep_field_mapping")
    row = {"composition_id": "comp_123", "field_name": "Slot 1 - name", "layer_name": "Name 1"}
    made = (await mapping.insert(row).execute()).data[0]
    assert (made["kind"], made["property"]) == ("data", "Source Text")
    assert (await refused(mapping.insert(row))).code == "23505"
    flag = row | {"field_name": "Slot 1 - country", "layer_name": "Flag 1", "kind": "image"}
    upsert = mapping.upsert([row | {"layer_name": "Name A"}, flag], on_conflict="composition_id,field_name")
    assert [one["layer_name"] for one in (await upsert.execute()).data] == ["Name A", "Flag 1"]
    changed = (await mapping.update({"layer_name": "Name B"}).eq("id", made["id"]).execute()).data[0]
    assert (changed["layer_name"], changed["field_name"]) == ("Name B", "Slot 1 - name")
    await studio.shows("aep_field_mapping", id=made["id"], layer_name="Name B")
    deleted = (await mapping.delete().eq("id", made["id"]).execute()).data
    assert [one["field_name"] for one in deleted] == ["Slot 1 - name"]
    assert (await mapping.delete().eq("id", made["id"]).execute()).data == []

    compositions = studio.office.table("aep_compositions")
    await compositions.upsert({"id": "comp_123", "name": "Chips", "template": "chips.aep"}).execute()
    await studio.shows("aep_compositions", id="comp_123", name="Chips", template="chips.aep", fields=1)
    known = (await studio.says(c.GetComposition("comp_123"))).result
    assert (known["template"], list(known["fields"])) == ("chips.aep", ["Slot 1 - country"])
    assert (await studio.office.rpc("clear_render_cache", {}).execute()).data == {"asked": True}
    assert (await refused(studio.phone.rpc("clear_render_cache", {}))).code == "42501"
