"""`GET /api/moments/fleet?as_of=T` and `/api/moments/render?as_of=T`: the farm and the render queue at a past
moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from drover.api.past.questions import FleetMoment, RenderMoment, fleet_moment, render_moment
from drover.eventlog.histories import OfAnotherHistory
from drover.history.travel import MomentNotYet, MomentTooFar, TooManyTravellers
from drover.web.auth import Principal
from drover.web.errors import ApiError, invalid, unavailable
from drover.web.permissions import Verb
from drover.web.route import Answer, Parameter, Permission, Route, handles

FOR_EVER: Final = "private, max-age=3600, immutable"
"""Cache header of answers about the past, which does not change."""


class Traveller(Protocol):
    """The methods of `drover.history.travel.TimeTraveller` that these endpoints call."""

    async def ask(self, context: str, at: datetime, question: Callable[..., bytes], *arguments: object) -> bytes: ...


def _moment_of(context: str, *, id: str, summary: str, shape: Any) -> Route:
    return Route(
        method="GET",
        path=f"/api/moments/{context}",
        id=id,
        tag="past",
        summary=summary,
        permission=Permission("moments", Verb.READ),
        parameters=(Parameter("as_of", datetime, "The moment, with a UTC offset. Not in the future.", required=True),),
        answers={200: Answer(shape, "The state at that moment")},
        errors=(400, 503),
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

    async def _answer(self, request: web.Request, context: str, question: Callable[..., bytes]) -> web.Response:
        at = _moment(request.query.get("as_of", ""))
        try:
            body = await self._traveller.ask(context, at, question)
        except MomentNotYet as error:
            raise invalid("as_of is in the future", field="as_of", value=request.query["as_of"][:64]) from error
        except TooManyTravellers as error:
            raise _later("Two moments are being computed already") from error
        except (MomentTooFar, OfAnotherHistory) as error:
            raise _later(str(error)) from error
        return web.Response(body=body, content_type="application/json", headers={"Cache-Control": FOR_EVER})


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
    error.headers["Retry-After"] = "1"
    return error
