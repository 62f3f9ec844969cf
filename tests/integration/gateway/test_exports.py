"""Exports from a real database: the rows of the list with its rights, of one moment, bounded and on record."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import aiohttp
import asyncpg
import pytest

from drover.domain.contexts import CONTEXTS
from drover.eventlog.log import Partition
from drover.gateway import exports
from drover.gateway.exports import Exports
from drover.postgres.migrate import migrate
from drover.postgres.pool import open_pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions
from drover.readmodel.form import placed
from drover.service.access_tokens import issue_access_token
from drover.service.api_keys import Role, issue_api_key
from drover.service.health import Health
from drover.service.identity_keys import IdentityKeys
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.people import BuiltIn
from drover.web.permissions import Permissions
from drover.web.postgrest.read import keep_sealed
from drover.web.serve import serve
from tests.integration.api.reads.logs import Logs, at_second
from tests.integration.projection.history import FarmHistory
from tests.unit.web.test_audit import Log

SECRET = "s" * 32
KEYS = IdentityKeys(("i" * 32,))
START = datetime(2026, 3, 1, tzinfo=UTC)
WRITTEN_WITHIN_S = 120.0
pytestmark = pytest.mark.req("EV-05")


class Office:
    def __init__(self, session: aiohttp.ClientSession, audit: Log, connection: asyncpg.Connection) -> None:
        self._session = session
        self.audit = audit
        self.connection = connection

    async def ask(self, path: str, role: Role = Role.VIEWER, *, by: str = "kim") -> tuple[int, dict[str, str], str]:
        if role in (Role.VIEWER, Role.OPERATOR):
            token = issue_access_token(
                KEYS, account_id=by, session_id="s", role=role, now_s=time.time(), lifetime_s=600
            )
            key = {"Authorization": f"Bearer {token}"}
        else:
            key = {"apikey": issue_api_key(SECRET, role, now_s=time.time())}
        async with self._session.get(f"/rest/v1/export/{path}", headers=key) as answer:
            return answer.status, dict(answer.headers), await answer.text(encoding="utf-8-sig")

    async def table(self, path: str) -> list[dict[str, str]]:
        status, _, text = await self.ask(path)
        assert status == 200, text
        return [*csv.DictReader(io.StringIO(text, newline=""), strict=True)]


async def write_farm(dsn: str) -> None:
    await migrate(dsn)
    logs = Logs(at_second(START))
    await FarmHistory(logs["fleet"], START).write()
    await logs.project(dsn)


@pytest.fixture(scope="module")
def farm_dsn(background_loop, postgres) -> Iterator[str]:
    """Some four hundred assignments of seven jobs on sixty phones, once for all tests: they change only titles."""
    name = f"exports_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(postgres.dsn)
        await connection.execute(statement)
        await connection.close()

    background_loop.run(execute(f"CREATE DATABASE {name} TEMPLATE template0"))
    background_loop.run(write_farm(postgres.dsn_of(name)), WRITTEN_WITHIN_S)
    yield postgres.dsn_of(name)
    background_loop.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
async def office(farm_dsn) -> AsyncIterator[Office]:
    partitions = [Partition(context) for context in CONTEXTS]
    audit = Log()
    connection = await asyncpg.connect(farm_dsn)
    async with open_pool(farm_dsn, "test", 4) as pool:
        access = Access(Authenticator([SECRET], people=[BuiltIn(KEYS)]), Permissions(), Callers())
        freshness = Freshness(Positions(partitions), Newest(partitions))
        handler = Exports(access.permissions, pool, freshness, lambda principal: keep_sealed, Audit(audit, Callers()))
        app = create_application(Health(), body_bytes_max=1024)
        add_handlers(app, [handler], access)
        async with (
            serve(app, "127.0.0.1", 0, grace_s=1) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
        ):
            yield Office(session, audit, connection)
    await connection.close()


async def rows(office: Office, sql: str) -> list[Any]:
    found: list[Any] = await office.connection.fetch(placed(sql))
    return found


async def test_an_export_has_all_rows_of_the_search_in_its_order_however_many_chunks_they_are(office, monkeypatch):
    monkeypatch.setattr(exports, "CHUNK_ROWS", 7)
    found = await office.table("job_assignments.csv?select=id,status&status=eq.completed&order=id")
    wanted = await rows(office, "SELECT id FROM rm_fleet.job_assignments WHERE status = 'completed' ORDER BY id")
    assert len(wanted) > 14
    assert [row["id"] for row in found] == [str(row["id"]) for row in wanted]
    status, headers, text = await office.ask("devices.json?order=serial_number&limit=20")
    assert (status, headers["Drover-Export-Rows"], headers["Drover-Export-Cut"]) == (200, "20", "false")
    assert text.count('"serial_number"') == 20


async def test_more_rows_than_an_export_may_have_are_left_out_and_that_is_said(office, monkeypatch):
    monkeypatch.setattr(exports, "EXPORT_ROWS_MAX", 10)
    status, headers, text = await office.ask("devices.csv?select=id&order=id")
    assert (status, headers["Drover-Export-Rows"], headers["Drover-Export-Cut"]) == (200, "10", "true")
    assert len(text.splitlines()) == 11
    _, headers, _ = await office.ask("devices.csv?select=id&order=id&limit=10")
    assert headers["Drover-Export-Cut"] == "false", "no more were asked for"


async def test_a_search_without_rows_is_a_file_with_its_columns(office):
    status, headers, text = await office.ask("jobs.csv?select=id,name:title&title=eq.nothing")
    assert (status, headers["Drover-Export-Rows"], text) == (200, "0", "id,name\r\n")
    assert (await office.ask("jobs.json?title=eq.nothing"))[2] == "[]\n"


async def test_a_formula_in_a_title_is_a_text_in_the_file(office):
    await office.connection.execute(placed("UPDATE rm_fleet.job_rows SET title = '=HYPERLINK(\"http://x\")'"))
    assert {row["title"] for row in await office.table("jobs.csv")} == {'\'=HYPERLINK("http://x")'}


async def test_every_export_is_recorded_before_it_is_sent_and_not_made_if_that_fails(office):
    assert (await office.ask("jobs.csv"))[0] == 200
    assert office.audit.lines() == [("user:kim", "export", "/rest/v1/export/jobs.csv")]
    office.audit.is_away = True
    status, _, text = await office.ask("devices.csv")
    assert (status, "AUDIT_UNAVAILABLE" in text) == (503, True)


async def test_phones_export_nothing_and_people_only_what_they_may_read(office):
    assert [(await office.ask("jobs.csv", role))[0] for role in (Role.ANON, Role.SERVICE_ROLE)] == [403, 200]
    status, _, text = await office.ask("alarm.csv", Role.VIEWER)
    assert (status, "permission denied for table alarm" in text) == (403, True)
    assert len(office.audit.recorded) == 1


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("nothing.csv", 404),
        ("jobs.xlsx", 404),
        ("jobs.csv?nope=eq.1", 400),
        ("jobs.csv?id=eq.x", 400),
        ("jobs.csv?select=count()", 400),
    ],
)
async def test_a_bad_question_is_an_error_and_no_file(office, path, status):
    found, headers, _ = await office.ask(path)
    assert (found, "Content-Disposition" in headers) == (status, False)


async def test_large_rows_are_read_a_few_at_a_time_and_too_large_ones_are_refused(office, monkeypatch):
    """Embedded rows make a row as large as the caller likes."""
    monkeypatch.setattr(exports, "CHUNK_BYTES", 1)
    monkeypatch.setattr(exports, "STEP_ROWS", 1)
    sizes: list[int] = []
    made = exports.piece
    monkeypatch.setattr(exports, "piece", lambda *of, **how: sizes.append(len(of[2])) or made(*of, **how))
    status, _, text = await office.ask("jobs.json?select=id,job_assignments(*)")
    wanted = await rows(office, "SELECT job_id FROM rm_fleet.job_assignments")
    assert (status, text.count('"job_id"'), set(sizes)) == (200, len(wanted), {1})
    monkeypatch.setattr(exports, "CHUNK_BYTES", 1_000_000)
    monkeypatch.setattr(exports, "ROW_BYTES_MAX", 2_000)
    status, _, text = await office.ask("jobs.json?select=id,job_assignments(*)")
    assert (status, "A row has more than 2000 bytes" in text) == (400, True)
    assert (await office.ask("jobs.json?select=id,job_assignments(id)&job_assignments.limit=2"))[0] == 200


async def test_so_many_exports_at_once_and_no_more(office, monkeypatch):
    monkeypatch.setattr(exports, "EXPORTS_MAX", 0)
    status, headers, _ = await office.ask("jobs.csv")
    assert (status, "Retry-After" in headers) == (503, True)
    assert office.audit.recorded == [], "nothing was exported"


@pytest.mark.req("SE-05")
async def test_a_person_who_reads_slowly_does_not_take_the_places_of_others(office, monkeypatch):
    begun, goes_on, read = asyncio.Event(), asyncio.Event(), exports._next

    async def slowly(*arguments):
        begun.set()
        await goes_on.wait()
        return await read(*arguments)

    monkeypatch.setattr(exports, "_next", slowly)
    slow = asyncio.create_task(office.ask("jobs.csv"))
    await begun.wait()
    status, headers, text = await office.ask("jobs.csv")
    assert (status, "Retry-After" in headers, "of yours" in text) == (503, True, True)
    other = asyncio.create_task(office.ask("jobs.csv", by="lee"))
    goes_on.set()
    assert [answer[0] for answer in await asyncio.gather(slow, other)] == [200, 200]
    assert (await office.ask("jobs.csv"))[0] == 200, "its place is free again"


async def test_an_export_that_takes_too_long_is_503_and_says_what_to_do(office, monkeypatch):
    monkeypatch.setattr(exports, "EXPORT_S", 0)
    status, _, text = await office.ask("jobs.csv")
    assert (status, "narrow the search" in text) == (503, True)


async def test_a_fault_half_way_cuts_the_connection_so_that_nobody_takes_the_part_for_the_whole(office, monkeypatch):
    fetched: list[Any] = []
    fetch = exports._next

    async def failing(cursor: Any, *more: Any) -> Any:
        if fetched:
            raise asyncpg.AdminShutdownError("terminating connection")
        fetched.append(await fetch(cursor, *more))
        return fetched[0]

    monkeypatch.setattr(exports, "CHUNK_ROWS", 7)
    monkeypatch.setattr(exports, "_next", failing)
    with pytest.raises(aiohttp.ClientError):
        await office.ask("devices.csv")
    assert len(fetched[0]) == 7
    monkeypatch.undo()
    assert (await office.ask("devices.csv"))[0] == 200, "its place and its connection are free again"


async def test_a_list_sorted_by_any_column_comes_page_by_page_with_each_row_once(office):
    """As the dashboard asks for pages: after the last row's value, and after its id among those of the same value."""
    await office.connection.execute(
        placed(
            "UPDATE rm_fleet.job_rows SET title = CASE WHEN n % 3 = 0 THEN NULL ELSE 'a, \"b\" ' || n % 2 END"
            " FROM (SELECT id AS job, row_number() OVER () AS n FROM rm_fleet.job_rows) AS numbered WHERE id = job"
        )
    )
    for way, beyond in (("", "gt"), (".desc", "lt")):
        seen: list[str] = []
        after = ""
        while True:
            page = await office.table(f"jobs.csv?select=id,title&order=title{way},id{way}&limit=2{after}")
            if not page:
                break
            seen += [row["id"] for row in page]
            title, id_ = page[-1]["title"], page[-1]["id"]
            later = f'id.{beyond}."{id_}"'
            text = '"' + title.replace("\\", "\\\\").replace('"', '\\"') + '"'
            if title:
                nulls = "" if way else ",title.is.null"
                condition = f"(or(title.{beyond}.{text},and(title.eq.{text},{later}){nulls}))"
            elif way:
                condition = f"(or(and(title.is.null,{later}),title.not.is.null))"
            else:
                condition = f"(title.is.null,{later})"
            after = f"&and={quote(condition)}"
        down = way.replace(".", " ")
        wanted = await rows(office, f"SELECT id FROM rm_fleet.jobs ORDER BY title{down}, id{down}")
        assert seen == [str(row["id"]) for row in wanted]
