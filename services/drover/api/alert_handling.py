"""`/api/alerts/{context}/{alert_id}/…`: operators acknowledge and snooze alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web
from msgspec import Meta

from drover.bus.messages import Bus
from drover.domain.alert_handling import NOTE_CHARS_MAX, AcknowledgeAlert, EndSnooze, SnoozeAlert
from drover.domain.contexts import CONTEXTS
from drover.domain.decider import Command
from drover.domain.errors import Code
from drover.eventlog.log import Partition
from drover.web.auth import Principal
from drover.web.bodies import Body, read_body
from drover.web.commands import CommandClient, request_origin
from drover.web.errors import ApiError, not_found
from drover.web.freshness import Freshness
from drover.web.permissions import Verb
from drover.web.route import POSITION, Answer, Permission, Route, handles, in_path, write

ID_CHARS_MAX: Final = 128
Note = Annotated[str, Meta(max_length=NOTE_CHARS_MAX)]


class Acknowledgement(msgspec.Struct, forbid_unknown_fields=True):
    note: Note = ""
    """What the others should know. It is kept in the log for good: write no personal data."""


class Snooze(msgspec.Struct, forbid_unknown_fields=True):
    until: Annotated[datetime, Meta(tz=True)]
    """When the snooze ends, at most 30 days from now."""
    note: Note = ""


def _handling(what: str, *, id: str, summary: str, body: Any = None) -> Route:
    return write(
        path=f"/api/alerts/{{context}}/{{alert_id}}/{what}",
        id=id,
        tag="operations",
        summary=summary,
        permission=Permission("alerts", Verb.UPDATE),
        parameters=(
            in_path("context", str, "The context."),
            in_path("alert_id", str, "The id of the alert."),
        ),
        body=body,
        body_optional=body is Acknowledgement,
        answers={204: Answer(None, "Recorded", headers=POSITION)},
    )


class AlertHandling:
    def __init__(self, bus: Bus, partitions: Mapping[str, Sequence[Partition]], freshness: Freshness) -> None:
        self._clients = {
            context: [
                CommandClient(bus, context, partition=partition.name, freshness=freshness) for partition in several
            ]
            for context, several in partitions.items()
        }
        self._acknowledgement = Body(Acknowledgement)
        self._snooze = Body(Snooze)

    @handles(
        _handling(
            "acknowledge",
            id="acknowledgeAlert",
            summary="Say that you take care of an open alert",
            body=Acknowledgement,
        )
    )
    async def acknowledge(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request) if request.body_exists else b"{}"
        asked = self._acknowledgement.decode(raw)
        return await self._send(request, principal, AcknowledgeAlert(_id(request), note=asked.note), raw)

    @handles(
        _handling(
            "snooze",
            id="snoozeAlert",
            summary="Send no notices of this kind about this subject until then; a critical alert comes back",
            body=Snooze,
        )
    )
    async def snooze(self, request: web.Request, principal: Principal) -> web.Response:
        raw = await read_body(request)
        asked = self._snooze.decode(raw)
        return await self._send(request, principal, SnoozeAlert(_id(request), asked.until, note=asked.note), raw)

    @handles(_handling("end-snooze", id="endSnooze", summary="End the snooze of an open alert"))
    async def end_snooze(self, request: web.Request, principal: Principal) -> web.Response:
        return await self._send(request, principal, EndSnooze(_id(request)), b"")

    async def _send(self, request: web.Request, principal: Principal, command: Command, raw: bytes) -> web.Response:
        context = request.match_info["context"]
        if context not in CONTEXTS:
            raise not_found("Context")
        origin = request_origin(request, principal, raw=raw)
        missing: ApiError | None = None
        for client in self._clients[context]:  # an alert's id does not say in which partition it is
            try:
                done = await client.send(command, origin)
            except ApiError as error:
                if error.code != Code.NOT_FOUND:
                    raise
                missing = error
            else:
                return web.Response(status=204, headers=client.position_headers(done.position))
        raise missing or not_found("Alert")


def _id(request: web.Request) -> str:
    alert_id = request.match_info["alert_id"]
    if len(alert_id) > ID_CHARS_MAX:
        raise not_found("Alert")
    return alert_id
