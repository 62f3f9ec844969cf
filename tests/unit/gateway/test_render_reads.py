"""Reading the render queue at the edge: gfx_data is opened for those who may, and never searched. A word to workers."""

from __future__ import annotations

import pytest

from drover.render.nudges import CLEAR_CACHE
from tests.unit.gateway.render_office import GFX, KEYS, open_render_office


@pytest.fixture
async def office():
    async with open_render_office() as office:
        yield office


def stored(office, *render_ids):
    rows = []
    for render_id in render_ids:
        render = office.render(render_id)
        rows.append({"id": render_id, "gfx_data": f"{render.gfx_id} {render.gfx_data}", "gfx_data_error": None})
    return rows


@pytest.mark.req("RN-17")
async def test_a_read_shows_gfx_data_opened(office):
    await office.request()
    await office.request(gfx_data={"slots": []})
    office.pool.rows = stored(office, 1, 2)
    rows = await (await office.ask("GET", "render_queue?select=*")).json()
    assert [(row["gfx_data"], row["gfx_data_error"]) for row in rows] == [(GFX, None), ({"slots": []}, None)]


@pytest.mark.req("SE-11")
async def test_who_reads_gfx_data_is_recorded_and_who_does_not_see_it_is_not(office):
    await office.request()
    office.pool.rows = stored(office, 1)
    await office.ask("GET", "render_queue?select=*", role="viewer")
    office.pool.rows = [{"id": 1}]
    await office.ask("GET", "render_queue?select=id", role="operator")
    assert office.log.lines() == []
    office.pool.rows = stored(office, 1)
    assert (await office.ask("GET", "render_queue?select=*", role="operator")).status == 200
    ((_, kind, what),) = office.log.lines()
    assert (kind, what) == ("gfx_data", "/rest/v1/render_queue")


@pytest.mark.req("SE-11")
@pytest.mark.parametrize("path", ["accounts?select=id", "sessions?select=id", "sessions?select=id,accounts(role)"])
async def test_who_reads_accounts_or_sessions_is_recorded(office, path):
    office.pool.rows = []
    assert (await office.ask("GET", path, role="admin")).status == 200
    ((_, kind, what),) = office.log.lines()
    assert (kind, what) == ("people", f"/rest/v1/{path.partition('?')[0]}")


@pytest.mark.req("SE-11")
async def test_gfx_data_is_not_shown_if_the_read_cannot_be_recorded(office):
    await office.request()
    office.pool.rows = stored(office, 1)
    office.log.is_away = True
    answer = await office.ask("GET", "render_queue?select=*")
    assert (answer.status, (await answer.json())["code"]) == (503, "AUDIT_UNAVAILABLE")


@pytest.mark.req("RN-17")
async def test_a_key_that_is_gone_leaves_null_and_says_which_it_was(office):
    await office.request()
    office.pool.rows = stored(office, 1)
    async with open_render_office(leaders=office.leaders, DROVER_SEALING_KEYS="k9:" + "A" * 43 + "=") as later:
        later.pool.rows = office.pool.rows
        (row,) = await (await later.ask("GET", "render_queue?select=*")).json()
        assert row["gfx_data"] is None
        assert row["gfx_data_error"].startswith("The sealing key k1 is not in DROVER_SEALING_KEYS")


@pytest.mark.req("SE-08")
async def test_gfx_data_is_sealed_with_the_ring_of_renders_which_opens_what_the_ring_of_all_sealed_before(office):
    await office.request()
    own = "r1:" + "A" * 43 + "="
    for ring, opened in ((own, None), (f"{own},{KEYS[0]}", GFX)):
        leaders = office.leaders
        async with open_render_office(leaders=leaders, DROVER_RENDER_SEALING_KEYS=ring) as later:  # that of all, too
            later.pool.rows = stored(office, 1)
            (row,) = await (await later.ask("GET", "render_queue?select=*")).json()
            assert row["gfx_data"] == opened
            await later.request()
            newest = max(leaders.store.kept.values(), key=lambda stored: stored.revision)
            assert newest.key.kid == "r1"


@pytest.mark.req("RN-17", "RN-22")
async def test_a_viewer_sees_the_queue_and_not_what_is_in_gfx_data(office):
    await office.request()
    office.pool.rows = stored(office, 1)
    answer = await office.ask("GET", "render_queue?select=*", role="viewer")
    (row,) = await answer.json()
    assert (answer.status, row["id"], row["gfx_data"]) == (200, 1, None)
    assert "permission denied" in row["gfx_data_error"]
    (seen,) = await (await office.ask("GET", "render_queue?select=*", role="operator")).json()
    assert seen["gfx_data"] == GFX


@pytest.mark.parametrize(
    "query",
    [
        "gfx_data=eq.x",
        "gfx_data=is.null",
        "gfx_data=not.is.null",
        "gfx_data->>composition_name=eq.x",
        "gfx_data_error=is.null",
        "or=(id.eq.1,gfx_data.like.*IVEY*)",
        "order=gfx_data",
        "select=gfx_data->slots",
        "select=gfx_data::text",
        "select=id,render_queue_audit(id)&order=gfx_data.desc",
    ],
)
@pytest.mark.req("RN-17")
async def test_gfx_data_is_neither_searched_nor_ordered_nor_taken_apart(office, query):
    answer = await office.ask("GET", f"render_queue?{query}")
    error = await answer.json()
    assert (answer.status, error["code"]) == (400, "PGRST127")
    assert "is sealed" in error["details"]
    assert office.pool.asked == []


# The cache of workers


@pytest.mark.req("RN-13")
async def test_clearing_the_cache_is_a_word_to_all_workers(office):
    answer = await office.ask("POST", "rpc/clear_render_cache", {})
    assert (answer.status, await answer.json()) == (200, {"asked": True})
    assert office.said == [CLEAR_CACHE]
    office.heard = False
    assert (await office.ask("POST", "rpc/clear_render_cache", {})).status == 503
    assert (await office.ask("GET", "rpc/clear_render_cache")).status == 405
