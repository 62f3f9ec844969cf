"""The farm's HTTP client: it acts as phones, and as the farm's back office."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final

import msgspec
from yarl import URL

from drover.agent.client import CONNECTIONS_MAX, PhoneClient, Sessions, connections, headers_of
from drover.agent.protocol import Answer
from drover.domain.render.state import ENDED
from drover.simulator.phone import Identity

ROWS_PER_REQUEST_MAX: Final = 100
JOBS_LOOKED_AT_MAX: Final = 100


class Client(PhoneClient):
    """The client of one Drover, which acts as phones (with the anon key, or with keys of their own) and as the farm's
    back office (with the service key)."""

    def __init__(self, sessions: Sessions, url: str, anon_key: str, service_key: str) -> None:
        super().__init__(sessions, url, anon_key)
        self._pcs = self._url / "rest/v1/pcs"
        self._tasks = self._url / "rest/v1/tasks"
        self._as_farm = headers_of(service_key)

    async def ready(self) -> Answer:
        return (await self._ask("GET", self._url / "readyz", {}))[0]

    async def known_pcs(self, pc_ids: Sequence[str]) -> tuple[Answer, set[str]]:
        """Return those of these PCs that are registered."""
        answer, rows = await self._select(self._pcs, "id", id=_one_of(pc_ids))
        return answer, {row["id"] for row in rows}

    async def device_ids(self, serial_numbers: Sequence[str]) -> tuple[Answer, dict[str, str]]:
        """Return the platform's ids of these phones, by serial number. Unknown phones are left out."""
        answer, rows = await self._select(self._devices, "id,serial_number", serial_number=_one_of(serial_numbers))
        return answer, {row["serial_number"]: row["id"] for row in rows}

    async def register_pcs(self, pc_ids: Iterable[str]) -> Answer:
        return await self._create(self._pcs, [{"id": pc_id} for pc_id in pc_ids])

    async def register_devices(self, phones: Iterable[Identity]) -> Answer:
        return await self._create(self._devices, [phone._asdict() for phone in phones])

    async def create(self, relation: str, row: Mapping[str, Any]) -> Answer:
        """Create a row, as the back office."""
        return (await self._ask("POST", self._url / "rest/v1" / relation, self._as_farm, row))[0]

    async def api(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, headers: Mapping[str, str] | None = None
    ) -> tuple[Answer, bytes]:
        """Call any other route, as the back office, its workers or its cron jobs."""
        return await self._ask(method, self._url.joinpath(path.lstrip("/")), {**self._as_farm, **(headers or {})}, body)

    async def unfinished_renders(self) -> tuple[Answer, int]:
        answer, rows = await self._select(
            self._url / "rest/v1/render_queue",
            "id",
            status=f"not.in.({','.join(sorted(ENDED))})",
            limit=str(JOBS_LOOKED_AT_MAX),
        )
        return answer, len(rows)

    async def unfinished_jobs(self, since: datetime) -> tuple[Answer, int]:
        """Count the jobs that were created at the time `since` or later and have not ended."""
        answer, rows = await self._select(
            self._tasks,
            "id",
            status="in.(pending,running,retrying)",
            created_at=f"gte.{since.isoformat().replace('+00:00', 'Z')}",
            limit=str(JOBS_LOOKED_AT_MAX),
        )
        return answer, len(rows)

    async def _select(self, url: URL, columns: str, **filters: str) -> tuple[Answer, list[dict[str, Any]]]:
        answer, body = await self._ask("GET", url.with_query(select=columns, **filters), self._as_farm)
        return answer, msgspec.json.decode(body) if answer.ok else []

    async def _create(self, url: URL, rows: list[dict[str, Any]]) -> Answer:
        assert 1 <= len(rows) <= ROWS_PER_REQUEST_MAX
        return (await self._ask("POST", url, self._as_farm, rows))[0]


def _one_of(values: Sequence[str]) -> str:
    assert 1 <= len(values) <= ROWS_PER_REQUEST_MAX
    return f"in.({','.join(values)})"


@asynccontextmanager
async def connect(
    url: str, anon_key: str, service_key: str, *, connections_max: int = CONNECTIONS_MAX
) -> AsyncIterator[Client]:
    async with connections(requests_max=connections_max) as sessions:
        yield Client(sessions, url, anon_key, service_key)
