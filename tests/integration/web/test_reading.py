"""What a query means, by what a real PostgreSQL answers to it."""

from __future__ import annotations

import asyncio

import pytest
from postgrest import AsyncPostgrestClient

from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation
from drover.web.errors import ApiError
from drover.web.postgrest.compile import compile_query
from drover.web.postgrest.grammar import parse_query, split_parameters
from drover.web.postgrest.sight import Sight
from drover.web.postgrest.values import _TYPE_NAMES, cast_type

DEVICE_1 = "00000000-0000-0000-0000-000000000001"
PATIENCE_S = 10.0
"""Less than the other time-outs of the pool and of PostgreSQL."""


@pytest.mark.req("DF-09")
async def test_a_poll_has_its_job_in_it(reader):
    query = f"job_assignments?select=*,jobs(*)&device_id=eq.{DEVICE_1}&status=eq.pending&order=id.asc&limit=1"
    (row,) = await reader.rows(query)
    assert (row["id"], row["status"], row["jobs"]["title"]) == (3, "pending", "second")
    assert row["jobs"].keys() == {"id", "title", "status", "created_at", "data"}


FIRST_TWO = [{"id": 1}, {"id": 2}]
MEANINGS = {
    "to one: an object, or null": {
        "job_assignments?select=id,jobs(title)": [
            {"id": 1, "jobs": {"title": "first"}},
            {"id": 2, "jobs": {"title": "first"}},
            {"id": 3, "jobs": {"title": "second"}},
            {"id": 4, "jobs": None},
        ],
    },
    "to many: an array, in an order that is always the same": {
        "jobs?select=title,runs:job_assignments(id)": [
            {"title": "first", "runs": FIRST_TWO},
            {"title": "second", "runs": [{"id": 3}]},
            {"title": "third", "runs": []},
        ],
        "jobs?select=r:job_assignments(id)&limit=1&r.order=id.desc": [{"r": [{"id": 2}, {"id": 1}]}],
        "jobs?select=r:job_assignments(id)&limit=1&r.limit=1": [{"r": [{"id": 1}]}],
        "jobs?select=r:job_assignments(id)&limit=1&r.limit=1&r.offset=1": [{"r": [{"id": 2}]}],
    },
    "embeds in embeds, and one relation twice": {
        "devices?select=name,r:job_assignments(id,jobs(title,job_assignments(id)))&name=eq.D1": [
            {
                "name": "D1",
                "r": [
                    {"id": 1, "jobs": {"title": "first", "job_assignments": FIRST_TWO}},
                    {"id": 3, "jobs": {"title": "second", "job_assignments": [{"id": 3}]}},
                ],
            }
        ],
        "jobs?select=a:job_assignments(id),b:job_assignments(id)&a.status=eq.completed&b.status=eq.failed&limit=1": [
            {"a": [{"id": 1}], "b": [{"id": 2}]}
        ],
    },
    "a filter on an embed narrows what is embedded": {
        "jobs?select=title,job_assignments(id)&job_assignments.status=eq.failed": [
            {"title": "first", "job_assignments": [{"id": 2}]},
            {"title": "second", "job_assignments": []},
            {"title": "third", "job_assignments": []},
        ],
        "job_assignments?select=id,jobs(title)&jobs.title=eq.second&limit=1": [{"id": 1, "jobs": None}],
        "job_assignments?select=id,jobs()&jobs.title=eq.second&limit=2": FIRST_TWO,
        "devices?select=name,r:job_assignments(id,jobs!inner(title))&r.jobs.title=eq.second&limit=2": [
            {"name": "D1", "r": [{"id": 3, "jobs": {"title": "second"}}]},
            {"name": "D2", "r": []},
        ],
    },
    "an inner embed narrows the rows as well": {
        "jobs?select=title,job_assignments!inner(id)&job_assignments.status=eq.failed": [
            {"title": "first", "job_assignments": [{"id": 2}]}
        ],
        "job_assignments?select=id,j:jobs!inner(title)&j.title=eq.second": [{"id": 3, "j": {"title": "second"}}],
        "job_assignments?select=id,jobs!inner()&jobs.or=(title.eq.second,title.eq.third)": [{"id": 3}],
        "devices?select=name,r:job_assignments!inner(id,jobs!inner(title))&r.jobs.title=eq.second": [
            {"name": "D1", "r": [{"id": 3, "jobs": {"title": "second"}}]}
        ],
    },
    "rows that have none, or some": {
        "jobs?select=title,job_assignments()&job_assignments=is.null": [{"title": "third"}],
        "jobs?select=title,job_assignments()&job_assignments=not.is.null&limit=1": [{"title": "first"}],
        "jobs?select=title,r:job_assignments()&r.status=eq.failed&or=(r.is.not_null,title.eq.third)": [
            {"title": "first"},
            {"title": "third"},
        ],
    },
    "an order by a column of an embed": {
        "job_assignments?select=id,jobs()&order=jobs(created_at).desc.nullslast": [{"id": n} for n in (3, 1, 2, 4)],
    },
    "counts": {
        "jobs?select=count()": [{"count": 3}],
        "jobs?select=n:count()&status=eq.nope": [{"n": 0}],
        "jobs?select=count": [{"count": 3}],
        "jobs?select=title,job_assignments(count)&limit=1": [{"title": "first", "job_assignments": [{"count": 2}]}],
        "jobs?select=n:job_assignments(count())&n.status=eq.failed&title=eq.second": [{"n": [{"count": 0}]}],
    },
    "JSON": {
        "jobs?select=data->size,x:data->deep->>%22a%20b%22&limit=1": [{"size": 5, "x": "c"}],
        "jobs?select=data->tags->0,z:data->tags->>-1,data->none&limit=1": [{"tags": "x", "z": "y", "none": None}],
        "jobs?select=data->size->a->b&limit=1": [{"b": None}],
        "jobs?select=title&data->>size=eq.big": [{"title": "second"}],
        "jobs?select=title&data->size=eq.5": [{"title": "first"}],
        "jobs?select=title&data->tags=cs.[%22y%22]": [{"title": "first"}],
        "jobs?select=title&data->tags->>0=in.(x,z)": [{"title": "first"}],
        "jobs?select=title&or=(data->>size.eq.big,data.is.null)": [{"title": "second"}, {"title": "third"}],
        "jobs?select=title&data->>size=like.b*": [{"title": "second"}],
        "jobs?select=title&order=data->>size.desc.nullslast&limit=2": [{"title": "second"}, {"title": "first"}],
        "job_assignments?select=id,j:jobs(data->size)&j.data->size=eq.5&limit=1": [{"id": 1, "j": {"size": 5}}],
    },
    "casts": {
        "job_assignments?select=id::text,progress::float,tags::text&limit=1": [
            {"id": "1", "progress": 100, "tags": "{a,b}"}
        ],
        "jobs?select=data->>size::int&title=eq.first": [{"size": 5}],
    },
    "other words for a value": {
        "jobs?select=title&status=eq.completed": [{"title": "first"}],
        "jobs?select=title&status=not.in.(completed,pending)": [{"title": "second"}],
    },
}


@pytest.mark.parametrize("meaning", MEANINGS)
async def test_a_query_gives_these_rows(reader, meaning):
    for query, rows in MEANINGS[meaning].items():
        assert (query, await reader.rows(query)) == (query, rows)


async def test_a_value_that_only_postgres_can_refuse_is_400(reader):
    for query in (
        "jobs?data->size=eq.nonsense",
        "jobs?select=data->>size::int",
        "jobs?select=data->size::int",
        "jobs?select=*,job_assignments(*)&job_assignments.tags=cs.nonsense",
        "job_assignments?select=*,jobs!inner(*)&jobs.created_at=gt.nonsense",
    ):
        status, error = await reader.ask(query)
        assert (query, status, error["code"][:2]) == (query, 400, "22")
        assert error.keys() == {"code", "message", "details", "hint"}


async def test_a_supabase_client_embeds_filters_and_sorts_what_it_embeds(reader):
    async with AsyncPostgrestClient(str(reader.client.make_url("/read"))) as client:
        answer = await (
            client.table("jobs")
            .select("title, runs:job_assignments!inner(id, status)")
            .neq("runs.status", "pending")
            .or_("progress.gt.90,progress.is.null,progress.lt.50", reference_table="runs")
            .order("id", desc=True, foreign_table="runs")
            .limit(5, foreign_table="runs")
            .order("title")
            .execute()
        )
        runs = [{"id": 2, "status": "failed"}, {"id": 1, "status": "completed"}]
        assert answer.data == [{"title": "first", "runs": runs}]


async def test_a_total_counts_the_rows_that_an_inner_embed_leaves(reader):
    query = "/read/jobs?select=title,job_assignments!inner(id)&job_assignments.status=eq.failed"
    async with reader.client.get(query, headers={"Prefer": "count=exact"}) as answer:
        assert (answer.status, answer.headers["Content-Range"]) == (200, "0-0/1")
    async with reader.client.get("/read/jobs?select=count()", headers={"Prefer": "count=exact"}) as answer:
        assert (answer.status, answer.headers["Content-Range"]) == (200, "0-0/1")


async def test_one_object_has_its_embeds(reader):
    status, row = await reader.ask(
        "jobs?select=job_assignments(id)&title=eq.second", Accept="application/vnd.pgrst.object+json"
    )
    assert (status, row) == (200, {"job_assignments": [{"id": 3}]})


async def test_a_key_of_one_device_sees_its_own_rows_whichever_way_it_comes(reader):
    only = {"devices": {"id": DEVICE_1}, "job_assignments": {"device_id": DEVICE_1}}
    reader.sight = Sight(reader.sight.relations, only)
    assert [row["name"] for row in await reader.rows("devices")] == ["D1"]
    assert [row["id"] for row in await reader.rows("job_assignments?or=(id.eq.1,id.eq.2,id.eq.3)")] == [1, 3]
    assert await reader.rows("jobs?select=job_assignments(id,devices(name))&limit=1") == [
        {"job_assignments": [{"id": 1, "devices": {"name": "D1"}}]}
    ]
    assert await reader.rows("jobs?select=title,job_assignments!inner()&job_assignments.status=eq.failed") == []
    assert await reader.rows("jobs?select=job_assignments(count)&limit=1") == [{"job_assignments": [{"count": 1}]}]


async def test_an_answer_that_is_too_large_is_refused_and_does_not_travel(reader, monkeypatch):
    monkeypatch.setattr("drover.web.postgrest.read.ANSWER_BYTES_MAX", 100)
    status, error = await reader.ask("jobs?select=*,job_assignments(*)")
    assert (status, error["code"]) == (400, "54000")
    assert "limit" in error["hint"]


@pytest.mark.req("SE-05")
async def test_a_read_that_takes_too_long_is_ended_with_503(reader, monkeypatch):
    monkeypatch.setattr("drover.web.postgrest.read.READ_TIMEOUT_S", 0.2)
    async with reader.pool.acquire() as other, other.transaction():
        await other.execute("LOCK TABLE rm_test.jobs IN ACCESS EXCLUSIVE MODE")  # so that the read does not end
        async with asyncio.timeout(PATIENCE_S):
            status, error = await reader.ask("jobs")
    assert (status, error["code"]) == (503, "UNAVAILABLE")


async def test_embeds_are_looked_up_for_the_rows_of_the_page_only(reader):
    """They stand behind the sort and the limit in the plan: otherwise each poll would build every job in the table."""
    await reader.pool.execute(
        "INSERT INTO rm_test.job_assignments (id, device_id, job_id, status) "
        "SELECT n, gen_random_uuid(), '00000000-0000-0000-0000-0000000000a1', 'pending' FROM generate_series(5, 2000) n"
    )
    query = parse_query(split_parameters("select=*,jobs(*)&status=eq.pending&order=progress&limit=1"))
    compiled = compile_query(reader.sight.relations["job_assignments"], query, sight=reader.sight)
    plan = await reader.pool.fetch(f"EXPLAIN (ANALYZE, COSTS off) {compiled.sql}", *compiled.parameters)
    subplan = next(line[0] for line in plan if "jobs_pkey" in line[0] or "on jobs" in line[0])
    assert "loops=1)" in subplan, "\n".join(line[0] for line in plan)


@pytest.mark.parametrize("type_", list(PgType))
async def test_every_cast_that_is_allowed_is_one_that_postgres_has(reader, type_):
    await reader.pool.execute(f"CREATE TABLE rm_test.typed (it {type_}); INSERT INTO rm_test.typed VALUES (NULL)")
    typed = Relation("typed", "rm_test", {"it": type_}, "test")
    allowed = 0
    for name in _TYPE_NAMES:
        try:
            cast_type(type_, name)
        except ApiError:
            continue
        allowed += 1
        compiled = compile_query(typed, parse_query([("select", f"it::{name}")]))
        row = await reader.pool.fetchrow(compiled.sql, *compiled.parameters)
        assert row["body"] == '[{"it":null}]'
    assert allowed
