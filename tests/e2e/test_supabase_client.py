"""A client that was written for Supabase (`postgrest`, the one in supabase-py) against the running platform."""

from __future__ import annotations

import pytest
from postgrest import AsyncPostgrestClient, CountMethod
from postgrest.exceptions import APIError

from drover.testing.waiting import eventually

SERIALS = [f"SUPABASE{number:02}" for number in range(12)]


@pytest.fixture
async def phone(platform, http):
    key = platform.credentials["anon_key"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    async with AsyncPostgrestClient(f"{platform.url}/rest/v1", headers=headers) as client:
        yield client


@pytest.mark.req("DF-11", "DF-25")
async def test_it_reads_devices_and_sends_the_heartbeat(http, phone):
    assert (await http.register(*SERIALS)).status == 201

    async def counted():
        ours = phone.table("devices").select("*", count=CountMethod.exact).in_("serial_number", SERIALS)
        return (await ours.execute()).count == len(SERIALS)

    await eventually(counted)
    ours = phone.table("devices").select("serial_number,status").like("serial_number", "SUPABASE%")
    page = await ours.neq("serial_number", SERIALS[-1]).order("serial_number", desc=True).limit(3).execute()
    assert [row["serial_number"] for row in page.data] == [*reversed(SERIALS[-4:-1])]

    heartbeat = {"status": "online", "last_seen_at": "2026-01-01T00:00:00Z"}
    beaten = await phone.table("devices").update(heartbeat).eq("serial_number", SERIALS[0]).execute()
    assert [row["serial_number"] for row in beaten.data] == [SERIALS[0]]

    async def online():
        one = await phone.table("devices").select("status").eq("serial_number", SERIALS[0]).single().execute()
        return one.data["status"] == "online"

    await eventually(online)

    with pytest.raises(APIError) as none:
        await phone.table("devices").select("*").eq("serial_number", "NOBODY0000").single().execute()
    assert none.value.code == "PGRST116"
    with pytest.raises(APIError) as unknown:
        await phone.table("devices").update(heartbeat).eq("serial_number", "NOBODY0000").execute()
    assert unknown.value.code == "NOT_FOUND"
