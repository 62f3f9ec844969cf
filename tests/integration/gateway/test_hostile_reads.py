"""Query strings that were made to break a read, on a real Postgres: an answer or a 400, never a 500."""

import aiohttp
import pytest


@pytest.fixture
async def session(farm):
    async with aiohttp.ClientSession(headers={"apikey": farm.service_key}) as session:
        rows = [{"serial_number": serial, "group_id": "P1-G1", "pc_id": "pc-1"} for serial in ("SERIAL0B", "SERIAL0A")]
        async with session.post(f"{farm.url}/devices", json=rows) as answer:
            assert answer.status == 201
        yield session


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("select=page:id", 200),
        ("select=body:id,rows:id,total:id", 200),
        ("select=id:status,id:serial_number", 200),
        ("select=status:id,s:status&order=status", 200),
        ("capabilities=cs.{{{{{{{a}}}}}}}", 400),
        ("capabilities=cs.[2147483647:2147483647]={a}", 400),
        ("created_at=eq.yesterdayish", 400),
        ("id=eq.nonsense", 400),
        ("offset=99999999999999999999", 400),
    ],
)
async def test_a_hostile_query_is_answered_or_refused(farm, session, query, status):
    async with session.get(f"{farm.url}/devices?{query}") as answer:
        assert answer.status == status, await answer.text()


async def test_an_alias_does_not_change_what_is_sorted_by(farm, session):
    async with session.get(
        f"{farm.url}/devices?select=serial_number:id,it:serial_number&order=serial_number"
    ) as answer:
        assert [row["it"] for row in await answer.json()] == ["SERIAL0A", "SERIAL0B"]
