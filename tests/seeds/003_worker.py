"""003: a render worker of the users' own, with supabase-py: poll, claim, render with nexrender, report."""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from steps import expect, step
from supabase import create_client

ME, OTHER = str(uuid4()), str(uuid4())
COMPOSITION = "comp_worker"
STATUS = {
    "queued": "rendering",
    "rendering": "rendering",
    "encoding": "encoding",
    "finished": "uploading",
    "error": "failed",
}
GFX_DATA = {
    "composition_name": "_MAIN Mini Chip Count",
    "slots": [{"slot_number": 1, "fields": {"name": "PHIL IVEY", "stack": "250"}}],
    "single_fields": {"table_id": "Table 1"},
    "flags": ["D:/assets/flags/United States.png"],
}
db = create_client(os.environ["SUPABASE_URL"], os.environ["SUPABASE_SERVICE_ROLE_KEY"])
nexrender = httpx.Client(base_url=os.environ["NEXRENDER_API_URL"])


def now(**later: int) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat()


def request(name: str) -> dict[str, Any]:
    row = {"composition_id": COMPOSITION, "gfx_data": GFX_DATA | {"composition_name": name}, "status": "pending"}
    return db.table("render_queue").insert(row).execute().data[0]


def poll() -> list[dict[str, Any]]:
    query = db.table("render_queue").select("id,composition_id,gfx_data,cue_item_id").eq("status", "pending")
    return query.order("created_at").limit(1).execute().data


def claim(job: dict[str, Any], worker: str) -> list[dict[str, Any]]:
    lease = {"status": "preparing", "worker_id": worker, "lock_expires_at": now(minutes=30)}
    return db.table("render_queue").update(lease).eq("id", job["id"]).eq("status", "pending").execute().data


def report(of: dict[str, Any], **columns: Any) -> dict[str, Any]:
    return db.table("render_queue").update(columns | {"updated_at": now()}).eq("id", of["id"]).execute().data[0]


def row(of: dict[str, Any]) -> dict[str, Any]:
    return db.table("render_queue").select("*").eq("id", of["id"]).single().execute().data


def gfx_to_nexrender_assets(gfx_data: dict[str, Any], aep_mapping: dict[str, str]) -> list[dict[str, str]]:
    """As printed in 3.4.2."""
    fields = [
        (f"Slot {number} - {name}", value)
        for number, slot in enumerate(gfx_data.get("slots", []), 1)
        for name, value in slot.get("fields", {}).items()
    ]
    fields += [(f"Single - {name}", value) for name, value in gfx_data.get("single_fields", {}).items()]
    texts = [
        {"type": "data", "layerName": aep_mapping[key], "property": "Source Text", "value": str(value)}
        for key, value in fields
        if key in aep_mapping
    ]
    flags = enumerate(gfx_data.get("flags", []), 1)
    return texts + [{"type": "image", "layerName": f"Flag {n}", "src": f"file://{path}"} for n, path in flags]


with step("4.1", "given three films"):
    names = ("Name 1", "Slot 1 - name"), ("Stack 1", "Slot 1 - stack"), ("Table", "Single - table_id")
    mapping = [{"composition_id": COMPOSITION, "field_name": field, "layer_name": layer} for layer, field in names]
    db.table("aep_field_mapping").insert(mapping).execute()
    films = [request(name) for name in ("first", "second", "third")]

with step("3.2", "finds the oldest film that waits"):
    job = poll()[0]
    expect((job["id"], job["composition_id"]), (films[0]["id"], COMPOSITION))
    expect(job["gfx_data"], GFX_DATA | {"composition_name": "first"})

with step("3.3", "claims it"):
    claimed = claim(job, ME)
    expect([(row["id"], row["status"], row["worker_id"]) for row in claimed], [(job["id"], "preparing", ME)])
    left = datetime.fromisoformat(claimed[0]["lock_expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=29) < left <= timedelta(minutes=30), left

with step("3.3", "a second worker gets nothing"):
    expect((claimed[0]["worker_id"], claim(job, OTHER)), (ME, []))
    expect(row(job)["worker_id"], ME)

with step("3.4", "makes nexrender's assets from the mapping"):
    found = db.table("aep_field_mapping").select("field_name,layer_name").eq("composition_id", COMPOSITION).execute()
    assets = gfx_to_nexrender_assets(job["gfx_data"], {one["field_name"]: one["layer_name"] for one in found.data})
    expect([asset["layerName"] for asset in assets], ["Name 1", "Stack 1", "Table", "Flag 1"])

with step("3.5.1", "gives the film to nexrender"):
    template = {"src": "file://D:/templates/cyprusdesign.aep", "composition": job["gfx_data"]["composition_name"]}
    created = nexrender.post("/api/v1/jobs", json={"template": template, "assets": assets, "actions": []}).json()
    report(claimed[0], nexrender_job_id=created["id"], status="rendering", started_at=now())
    expect((row(job)["status"], row(job)["nexrender_job_id"]), ("rendering", created["id"]))
    assert row(job)["started_at"]

with step("3.5.2", "reports each status and its progress"):
    state, seen = created, []
    while state["status"] != "finished":
        state = nexrender.get(f"/api/v1/jobs/{created['id']}").json()
        report(claimed[0], status=STATUS[state["status"]], progress=state["progress"])
        seen.append((row(job)["status"], row(job)["progress"]))
    expect(seen, [("rendering", 0), ("rendering", 45), ("encoding", 90), ("uploading", 100)])

with step("5.3", "renews its lease"):
    renewed = report(claimed[0], lock_expires_at=now(minutes=30))
    before, after = (datetime.fromisoformat(one["lock_expires_at"]) for one in (claimed[0], renewed))
    assert after > before, (before, after)

with step("3.6", "copies the file and reports the end"):
    with tempfile.TemporaryDirectory() as folder:
        local, nas = Path(folder, f"job_{job['id']}.mp4"), Path(folder, "nas", f"first_{job['id']}.mp4")
        local.write_bytes(bytes(100 * 1024))
        nas.parent.mkdir()
        shutil.copy2(local, nas)
        expect(nas.stat().st_size, local.stat().st_size)
    ended = report(claimed[0], output_file_path=str(nas), status="completed", completed_at=now(), duration_seconds=3)
    expect((ended["status"], ended["output_file_path"], ended["progress"]), ("completed", str(nas), 100))
    assert ended["completed_at"]
    assert ended["duration_seconds"] is not None

with step("6.1", "goes on with the next film"):
    following = poll()[0]
    expect(following["id"], films[1]["id"])

with step("3.6", "reports a failure"):
    (mine,) = claim(following, ME)
    report(mine, status="failed", error_message="File too small: 12 bytes")
    expect((row(mine)["status"], row(mine)["error_message"]), ("failed", "File too small: 12 bytes"))

with step("8.1", "a worker that has not claimed a film changes nothing"):
    (mine,) = claim(films[2], ME)
    stolen = db.table("render_queue").update({"progress": 50}).eq("id", mine["id"]).eq("worker_id", OTHER).execute()
    expect((stolen.data, row(mine)["progress"]), ([], 0))

with step("5.1", "gives a film back after a time-out"):
    report(mine, status="pending", worker_id=None, lock_expires_at=None)
    expect((row(mine)["status"], row(mine)["worker_id"], row(mine)["lock_expires_at"]), ("pending", None, None))

with step("7.2", "counts the workers that are at work"):
    (mine,) = claim(films[2], OTHER)
    query = db.table("render_queue").select("worker_id").gt("lock_expires_at", now())
    busy = query.in_("status", ["preparing", "rendering", "encoding", "uploading"]).execute().data
    expect({one["worker_id"] for one in busy}, {OTHER})
    report(mine, status="failed", error_message="stopped")

with step("6.1", "finds nothing more"):
    expect(claimed[0]["id"], films[0]["id"])
    expect(poll(), [])

for film in db.table("render_queue").select("id").eq("status", "pending").execute().data:  # what failed steps left
    db.table("render_queue").update({"status": "cancelled"}).eq("id", film["id"]).execute()
