"""The routes of the api service that are not reads of read models, described: status, stream, document, past."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from drover.api.films.films import OPERATIONS as FILMS
from drover.api.live.stream import Hello
from drover.api.past.questions import FleetMoment, RenderMoment
from drover.api.status import Status
from drover.web.openapi.operation import Answer, Operation, Parameter


class PlatformStatus(Status):
    """How the platform is, in short."""


_AS_OF: Final = Parameter("as_of", datetime, "The moment, with its offset. Not in the future.", required=True)

OPERATIONS: Final = (
    *FILMS,
    Operation(
        method="GET",
        path="/api/status",
        id="getStatus",
        tag="operations",
        summary="How the platform is, in short",
        answers={200: Answer(PlatformStatus, "Also while a server is away: it says which")},
    ),
    Operation(
        method="GET",
        path="/api/stream",
        id="stream",
        tag="operations",
        summary="Every event as it is recorded, as server-sent events",
        description=(
            "The first one is `hello`. All others are events of the log: `event` is the type, `data` the event as JSON,"
            " `id` its place. A client that comes back with `Last-Event-ID` misses nothing."
        ),
        parameters=(
            Parameter("context", str, "Only these contexts.", many=True),
            Parameter("type", str, "Only these types; `*` stands for any letters, as in Attempt*.", many=True),
            Parameter("entity", str, "Only events that name this id."),
            Parameter("after", str, "Begin after this id."),
            Parameter("Last-Event-ID", str, "Likewise; browsers send it by themselves.", place="header"),
        ),
        answers={
            200: Answer(Hello, "A stream without an end; this is the data of its `hello`", media="text/event-stream")
        },
        errors=(400, 503),
    ),
    Operation(
        method="GET",
        path="/api/openapi.json",
        id="getOpenapi",
        tag="process",
        summary="This document",
        answers={200: Answer(dict[str, Any], "OpenAPI 3.1")},
        caller="anybody",
    ),
    *(
        Operation(
            method="GET",
            path=f"/api/moments/{context}",
            id=id_,
            tag="past",
            summary=summary,
            parameters=(_AS_OF,),
            answers={200: Answer(moment, "As it was")},
            errors=(400, 503),
        )
        for context, id_, summary, moment in (
            ("fleet", "getFleetMoment", "The farm as it was at a moment", FleetMoment),
            ("render", "getRenderMoment", "The render queue as it was at a moment", RenderMoment),
        )
    ),
)
