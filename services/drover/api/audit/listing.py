"""`/api/audit`: who read sensitive data, who signed in, who changed what, and from which address; for admins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from aiohttp import web

from drover.api.audit.network_addresses import NetworkAddresses, OpenNetworkAddress
from drover.api.reads.database import Pool, ReadModels
from drover.api.reads.endpoint import Endpoint, respond
from drover.api.reads.listing import Key, Listing, Page, Where, within
from drover.api.reads.parameters import CURSOR, LIMIT, LIMIT_MAX, ORDER, Asked, one_of, text
from drover.domain.errors import Code
from drover.domain.identity.audit import AccessKind
from drover.readmodel.identity import AccessRow
from drover.service.subject_sealing import KeysUnreachable
from drover.web.audit import Audit
from drover.web.auth import Principal
from drover.web.errors import ApiError, unavailable
from drover.web.export_formats import Format, answer, head, headers, piece, tail
from drover.web.freshness import Freshness
from drover.web.permissions import Verb
from drover.web.route import BEHIND, MIN_POSITION, Answer, Permission, Route, handles, in_path

CONTEXT: Final = "identity"
_TRACE_ID_AT: Final = 1


class AuditEntry(msgspec.Struct, frozen=True):
    """One entry of the audit: who did what, when and from where."""

    id: UUID
    at: datetime
    by: str
    """Who: `user:<id>`, `service_role`, `operator:<user>@<machine>` for the command line."""
    kind: AccessKind
    what: str
    """The path of a read, method and path of a change, or the command."""
    address: str | None
    """The IP address; null if it is not known, or if the actor was erased."""
    user_agent: str
    trace_id: str | None
    """The trace of the request; null if it has none. The events of a change have the same trace id."""


ACCESSES: Final = Listing(
    "audit",
    CONTEXT,
    AccessRow,
    "rm_identity.access_rows a",
    key=(Key("at", "a.at", datetime, "timestamptz"), Key("id", "a.id", UUID, "uuid")),
    wheres=(
        Where(text("by", "Of this person or program, such as user:<id>."), "a.by = {}"),
        Where(one_of("kind", [*AccessKind], "One of these.", many=True), "a.kind = {}", fans=True),
        *within("a.at"),
    ),
    order=ORDER,
)
EXPORT_ROWS_MAX: Final = 10_000
"""The maximum number of entries in an export: they are kept in memory until all addresses are opened."""


EXPORTED_BY: Final = tuple(kind for kind in ACCESSES.kinds if kind not in (LIMIT, CURSOR))


def entry_of(row: AccessRow, open_: OpenNetworkAddress) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at=row.at,
        by=row.by,
        kind=AccessKind(row.kind),
        what=row.what,
        address=open_(row.address_sealed, row.by),
        user_agent=row.user_agent,
        trace_id=None if row.trace is None else row.trace.split("-")[_TRACE_ID_AT],
    )


class AuditList:
    def __init__(
        self, pool: Pool, freshness: Freshness, addresses: NetworkAddresses, audit: Audit | None = None
    ) -> None:
        self._endpoint = Endpoint(freshness, ReadModels(pool), audit)
        self._addresses = addresses

    @handles(
        Route(
            method="GET",
            path="/api/audit",
            id="listAudit",
            tag="accounts",
            summary="Who read what is sensitive, and who changed what from where, newest first; for admins",
            permission=Permission("audit", Verb.READ),
            audited=AccessKind.AUDIT,
            https=True,
            parameters=(*(kind.described for kind in ACCESSES.kinds), MIN_POSITION),
            answers={200: Answer(Page[AuditEntry], "From the read model", headers=BEHIND)},
            errors=(400, 503),
        )
    )
    async def list(self, request: web.Request, principal: Principal) -> web.Response:
        question = await self._endpoint.ask(request, principal, contexts=(CONTEXT,), kinds=ACCESSES.kinds)
        page = await self._page(question.asked)
        return respond(page, question.awaited.headers)

    @handles(
        Route(
            method="GET",
            path="/api/audit/export.{format}",
            id="exportAudit",
            tag="accounts",
            summary="The audit as a file; for admins",
            description=f"The filters are those of `/api/audit`. A file has at most {EXPORT_ROWS_MAX:,} entries.",
            permission=Permission("audit", Verb.READ),
            audited=AccessKind.AUDIT,
            https=True,
            parameters=(
                in_path("format", Literal["csv", "json"], "The format of the file."),
                *(kind.described for kind in EXPORTED_BY),
                MIN_POSITION,
            ),
            answers={200: answer(tuple[AuditEntry, ...], headers=BEHIND)},
            errors=(400, 404, 503),
        )
    )
    async def export(self, request: web.Request, principal: Principal) -> web.Response:
        if (name := request.match_info["format"]) not in [*Format]:
            raise ApiError(404, Code.NOT_FOUND, "An export is .csv or .json")
        question = await self._endpoint.ask(request, principal, contexts=(CONTEXT,), kinds=EXPORTED_BY)
        await self._endpoint.record(question, AccessKind.EXPORT)
        entries: list[dict[str, Any]] = []
        asked = question.asked.with_(limit=LIMIT_MAX)
        while True:
            page = await self._page(asked)
            entries += [msgspec.to_builtins(entry) for entry in page.items]
            if page.next is None or len(entries) > EXPORT_ROWS_MAX:
                break
            asked = asked.with_(cursor=page.next)
        is_cut, format_ = len(entries) > EXPORT_ROWS_MAX or page.next is not None, Format(name)
        rows, columns = entries[:EXPORT_ROWS_MAX], AuditEntry.__struct_fields__
        body = head(format_, columns) + piece(format_, columns, rows, is_first=True) + tail(format_)
        told = headers("audit", format_, rows=len(rows), is_cut=is_cut, now=datetime.now(UTC))
        return web.Response(body=body, headers={**told, **question.awaited.headers})

    async def _page(self, asked: Asked) -> Page[AuditEntry]:
        page = await ACCESSES.page(self._endpoint.models, asked)
        try:
            open_ = await self._addresses.opener(row.address_sealed for row in page.items)
        except KeysUnreachable as error:
            raise unavailable(str(error)) from error
        return Page([entry_of(row, open_) for row in page.items], page.next)
