"""003: an operator frees films whose worker is gone (5.3 and 10.2), with supabase-py instead of SQL."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from steps import expect, step, until
from supabase import create_client

GONE = str(uuid4())
WORKING = ["preparing", "rendering", "encoding", "uploading"]
db = create_client(os.environ["SUPABASE_URL"], os.environ["SUPABASE_SERVICE_ROLE_KEY"])


def now(**later: int) -> str:
    return (datetime.now(UTC) + timedelta(**later)).isoformat()


def request() -> dict[str, Any]:
    wanted = {"composition_id": "comp_recovery", "gfx_data": {"composition_name": "Recovery", "slots": []}}
    return db.table("render_queue").insert(wanted).execute().data[0]


def claim(film: dict[str, Any], lock_expires_at: str) -> dict[str, Any]:
    lease = {"status": "preparing", "worker_id": GONE, "lock_expires_at": lock_expires_at}
    (row,) = db.table("render_queue").update(lease).eq("id", film["id"]).eq("status", "pending").execute().data
    return row


def row(of: dict[str, Any]) -> dict[str, Any]:
    return db.table("render_queue").select("*").eq("id", of["id"]).single().execute().data


def free_the_stuck() -> list[dict[str, Any]]:
    """Every ten minutes. The platform may have freed them before."""
    back = {"status": "pending", "worker_id": None, "lock_expires_at": None, "updated_at": now()}
    query = db.table("render_queue").update(back).in_("status", WORKING).lt("lock_expires_at", now())
    return query.not_.is_("worker_id", "null").execute().data


with step("10.2", "given four films of a worker that is gone"):
    films = [request() for _ in range(4)]
    for film in films[:3]:
        claim(film, now(minutes=30))
    expect([row(film)["status"] for film in films], ["preparing"] * 3 + ["pending"])

with step("10.2", "looks for films that are stuck"):
    query = db.table("render_queue").select("id,status,worker_id,lock_expires_at")
    expect(query.in_("status", ["preparing", "rendering"]).lt("lock_expires_at", now()).execute().data, [])

with step("10.2", "puts one film back by its id"):
    known = row(films[0])
    expect(known["worker_id"], GONE)
    back = {"status": "pending", "worker_id": None, "recovery_count": known["recovery_count"] + 1}
    (freed,) = db.table("render_queue").update(back).eq("id", films[0]["id"]).execute().data
    expect((freed["status"], freed["worker_id"], freed["recovery_count"]), ("pending", None, 1))

with step("5.3", "puts all films of the worker back by filters"):
    back = {"status": "pending", "worker_id": None, "lock_expires_at": None, "updated_at": now()}
    query = db.table("render_queue").update(back).in_("status", WORKING).eq("worker_id", GONE)
    expect(sorted(freed["id"] for freed in query.execute().data), sorted(film["id"] for film in films[1:3]))
    expect([row(film)["status"] for film in films[1:3]], ["pending"] * 2)

with step("5.3", "a lease that has lapsed frees its film"):
    claim(films[3], now(seconds=5))
    until(lambda: free_the_stuck() or row(films[3])["status"] == "pending")
    expect((row(films[3])["worker_id"], row(films[3])["recovery_count"]), (None, 1))

with step("5.3", "frees nothing where nothing is stuck"):
    expect(free_the_stuck(), [])

with step("5.3", "finds films that were recovered too often"):
    expect(db.table("render_queue").select("id").gt("recovery_count", 3).execute().data, [])
