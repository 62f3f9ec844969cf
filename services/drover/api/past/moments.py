"""`GET /api/moments/fleet?as_of=T` and `/api/moments/render?as_of=T`: the farm and the render queue at a past
moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from drover.api.past.questions import FleetMoment, RenderMoment, fleet_moment, render_moment
from drover.domain.errors import Code
from drover.eventlog.histories import OfAnotherHistory
from drover.eventlog.log import BelowBottom, LogUnreachable
from drover.history.moment_jobs import MomentProgress
from drover.history.travel import MomentNotYet, TooManyTravellers
from drover.web.auth import Principal
from drover.web.errors import ApiError, encode_json, invalid, unavailable
from drover.web.permissions import Verb
from drover.web.route import Answer, Parameter, Permission, Route, handles

FOR_EVER: Final = "private, max-age=3600, immutable"
"""Cache header of answers about the past, which does not change."""


AGAIN_S: Final = 1
"""The value of `Retry-After` for a moment that is still being computed, in seconds."""
_AS_OF: Final = Parameter("as_of", datetime, "The moment, with a UTC offset. Not in the future.", required=True)


class Traveller(Protocol):
    """The methods of `drover.history.moment_jobs.MomentJobs` that these endpoints call."""

    async def ask(self, context: str, at: datetime, question: Callable[..., bytes]) -> bytes | MomentProgress: ...

    async def cancel(self, context: str, at: datetime, question: Callable[..., bytes]) -> bool: ...


def _moment_of(context: str, *, id: str, summary: str, shape: Any) -> Route:
    return Route(
        method="GET",
        path=f"/api/moments/{context}",
        id=id,
        tag="past",
        summary=summary,
        description="A moment that needs many events is computed in the background: the answer is then 202 with the "
        "progress. Ask again until it is 200. If nobody asks for 30 s, the computation is cancelled.",
        permission=Permission("moments", Verb.READ),
        parameters=(_AS_OF,),
        answers={
            200: Answer(shape, "The state at that moment"),
            202: Answer(
                MomentProgress, "It is being computed", headers={"Retry-After": "When to ask again, in seconds"}
            ),
        },
        errors=(400, 503),
    )


def _cancel_of(context: str, *, id: str) -> Route:
    return Route(
        method="DELETE",
        path=f"/api/moments/{context}",
        id=id,
        tag="past",
        summary="Cancel the computation of a moment",
        permission=Permission("moments", Verb.READ),
        parameters=(_AS_OF,),
        answers={204: Answer(None, "It is cancelled")},
        errors=(400, 404, 503),
    )


class Moments:
    def __init__(self, traveller: Traveller) -> None:
        self._traveller = traveller

    @handles(_moment_of("fleet", id="getFleetMoment", summary="The farm as it was at a moment", shape=FleetMoment))
    async def fleet(self, request: web.Request, principal: Principal) -> web.Response:
        return await self._answer(request, "fleet", fleet_moment)

    @handles(
        _moment_of("render", id="getRenderMoment", summary="The render queue as it was at a moment", shape=RenderMoment)
    )
    async def render(self, request: web.Request, principal: Principal) -> web.Response:
        return await self._answer(request, "render", render_moment)

    @handles(_cancel_of("fleet", id="cancelFleetMoment"))
    async def cancel_fleet(self, request: web.Request, principal: Principal) -> web.Response:
        return await self._cancel(request, "fleet", fleet_moment)

    @handles(_cancel_of("render", id="cancelRenderMoment"))
    async def cancel_render(self, request: web.Request, principal: Principal) -> web.Response:
        return await self._cancel(request, "render", render_moment)

    async def _cancel(self, request: web.Request, context: str, question: Callable[..., bytes]) -> web.Response:
        if not await self._traveller.cancel(context, _moment(request.query.get("as_of", "")), question):
            raise ApiError(404, Code.NOT_FOUND, "This moment is not being computed")
        return web.Response(status=204)

    async def _answer(self, request: web.Request, context: str, question: Callable[..., bytes]) -> web.Response:
        at = _moment(request.query.get("as_of", ""))
        try:
            found = await self._traveller.ask(context, at, question)
        except MomentNotYet as error:
            raise invalid("as_of is in the future", field="as_of", value=request.query["as_of"][:64]) from error
        except TooManyTravellers as error:
            raise _later("Two moments are being computed already") from error
        except OfAnotherHistory as error:
            raise _later(str(error)) from error
        except LogUnreachable as error:
            raise _later("The log, or the archive, does not answer") from error
        except BelowBottom as error:
            raise _later("The moment is in the archive, which this process cannot read") from error
        if isinstance(found, MomentProgress):
            headers = {"Cache-Control": "no-store", "Retry-After": str(AGAIN_S)}
            return web.Response(status=202, body=encode_json(found), content_type="application/json", headers=headers)
        return web.Response(body=found, content_type="application/json", headers={"Cache-Control": FOR_EVER})


def _moment(text: str) -> datetime:
    try:
        at = msgspec.convert(text, datetime)  # strict: a number is not a time
    except msgspec.ValidationError:
        at = None
    if at is None or at.tzinfo is None:
        message = "as_of must be a time with a UTC offset, as in 2026-11-16T09:00:00Z"
        raise invalid(message, field="as_of", value=text[:64])
    return at


def _later(message: str) -> ApiError:
    error = unavailable(message)
    error.headers["Retry-After"] = str(AGAIN_S)
    return error
