"""`rpc/fn_timeout_tasks_and_task_devices` on real servers: a program has fired what the clock has not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from supabase import acreate_client

from drover.domain.fleet import FLEET, starts
from drover.domain.render import RENDER


@pytest.fixture
def deciders():
    """A fleet whose clock never wakes: only a caller has deadlines fired."""
    return replace(FLEET, next_deadline=lambda fleet: None), RENDER


@pytest.mark.req("OQ-12", "OQ-06", "DI-02")
async def test_a_program_has_fired_what_is_overdue(farm, monkeypatch):
    db = await acreate_client(farm.url.removesuffix("/rest/v1"), farm.service_key)
    phones = [{"serial_number": f"SERIAL{n:04}", "group_id": "P1-G1", "pc_id": "PC-1"} for n in range(3)]
    await db.table("devices").insert(phones).execute()
    await db.table("tasks").insert({"target_url": "https://youtu.be/abc"}).execute()
    claim = {"runner_pc_id": "PC-1", "max_to_claim": 1}
    in_time = (await db.rpc("claim_task_devices_for_pc", claim).execute()).data
    monkeypatch.setattr(starts, "ATTEMPT_TIMEOUT", timedelta(0))  # what is claimed from now on is overdue at once
    late = (await db.rpc("claim_task_devices_for_pc", claim | {"max_to_claim": 20}).execute()).data
    assert (len(in_time), len(late)) == (1, 2)

    fired = (await db.rpc("fn_timeout_tasks_and_task_devices", {}).execute()).data
    assert fired == {"timed_out": 2}
    columns = "status,attempt,error,timed_out"
    ids = [row["id"] for row in late]
    rows = (await db.table("task_devices").select(columns).in_("id", ids).execute()).data
    text = "Task device timeout: exceeded 20 minutes"
    assert rows == [{"status": "pending", "attempt": 2, "error": text, "timed_out": True}] * 2
    (row,) = (await db.table("task_devices").select(columns).eq("id", in_time[0]["id"]).execute()).data
    assert (row["status"], row["error"], row["timed_out"]) == ("running", None, False)
    found = (await db.table("task_devices").select("id").ilike("error", "%timeout%").execute()).data
    assert {row["id"] for row in found} == set(ids), "as the users look for it"
    assert (await db.rpc("fn_timeout_tasks_and_task_devices", {}).execute()).data == {"timed_out": 0}
