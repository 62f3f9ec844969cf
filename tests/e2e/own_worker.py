"""A render worker of the users' own, as 003 §3 writes it: poll, claim, render with nexrender, copy to the NAS, report.

It knows a URL, a key and the table `render_queue`, and nothing of Drover. Its pauses and its lease are short.
"""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
from postgrest.exceptions import APIError
from supabase import create_client

ME: Final = os.environ["WORKER_ID"]
FENCED: Final = os.environ.get("FENCED") == "1"
"""Whether its reports name the worker, as row-level security would (003 §8.1). The statements of §3.5 do not."""
OUTPUT: Final = Path(os.environ["OUTPUT_DIR"])
NAS: Final = Path(os.environ["NAS_MOUNT_PATH"])
TEMPLATE: Final = os.environ["AEP_TEMPLATE"]
LEASE_S: Final = float(os.environ["LEASE_S"])
POLL_S: Final = 0.2
STATUS: Final = {"queued": "rendering", "rendering": "rendering", "encoding": "encoding", "finished": "uploading"}

db = create_client(os.environ["SUPABASE_URL"], os.environ["SUPABASE_KEY"])
nexrender = httpx.Client(base_url=os.environ["NEXRENDER_API_URL"], timeout=30)


class Lost(Exception):
    """The render is not ours any more."""


def lease() -> str:
    return (datetime.now(UTC) + timedelta(seconds=LEASE_S)).isoformat()


def poll() -> dict[str, Any] | None:
    query = db.table("render_queue").select("*").eq("status", "pending")
    found = query.order("created_at").limit(1).execute().data
    return found[0] if found else None


def claim(job: dict[str, Any]) -> dict[str, Any] | None:
    columns = {"status": "preparing", "worker_id": ME, "lock_expires_at": lease()}
    found = db.table("render_queue").update(columns).eq("id", job["id"]).eq("status", "pending").execute().data
    return found[0] if found else None


def report(job: dict[str, Any], **columns: Any) -> None:
    query = db.table("render_queue").update(columns).eq("id", job["id"])
    try:
        rows = (query.eq("worker_id", ME) if FENCED else query).execute().data
    except APIError as error:
        if error.code == "CONFLICT":
            raise Lost from error
        raise
    if not rows:
        raise Lost


def render(job: dict[str, Any]) -> None:
    slots = enumerate(job["gfx_data"]["slots"], 1)
    assets = [
        {"type": "data", "layerName": f"Name {n}", "property": "Source Text", "value": slot["fields"]["name"]}
        for n, slot in slots
    ]
    local = OUTPUT / f"job_{job['id']}_{ME}_{time.time_ns()}.mp4"
    template = {"src": f"file://{TEMPLATE}", "composition": job["composition_name"]}
    wanted = {"template": template, "assets": assets, "actions": [], "output": str(local)}
    created = nexrender.post("/api/v1/jobs", json=wanted).raise_for_status().json()
    report(job, nexrender_job_id=created["id"], status="rendering", started_at=datetime.now(UTC).isoformat())
    state = created
    while state["status"] != "finished":
        time.sleep(POLL_S)
        state = nexrender.get(f"/api/v1/jobs/{created['id']}").raise_for_status().json()
        if state["status"] == "error":
            report(job, status="failed", error_message=str(state.get("error")))
            return
        report(job, status=STATUS[state["status"]], progress=state["progress"], lock_expires_at=lease())
    nas = NAS / job["broadcast_date"] / f"{job['composition_name']}_{job['id']}.mp4"
    nas.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(local, nas)
    report(job, output_file_path=str(nas), status="completed", completed_at=datetime.now(UTC).isoformat())
    print(f"completed {job['id']}", flush=True)


while True:
    waiting = poll()
    mine = None if waiting is None else claim(waiting)
    if mine is None:
        time.sleep(POLL_S)
        continue
    print(f"claimed {mine['id']}", flush=True)
    try:
        render(mine)
    except Lost:
        print(f"lost {mine['id']}", flush=True)
