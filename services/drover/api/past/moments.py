"""`GET /api/moments/fleet?as_of=T` and `/render`: the time machine's way in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

import msgspec
from aiohttp import web

from drover.api.past.questions import fleet_moment, render_moment
from drover.history.travel import MomentNotYet, MomentTooFar, TooManyTravellers
from drover.web.application import add_route
from drover.web.auth import Authenticator
from drover.web.errors import ApiError, invalid, unavailable
from drover.web.permissions import Verb, demand

QUESTIONS: Final[dict[str, Callable[..., bytes]]] = {"fleet": fleet_moment, "render": render_moment}
FOR_EVER: Final = "private, max-age=3600, immutable"
"""The past does not change."""


class Traveller(Protocol):
    """What is needed of `drover.history.travel.TimeTraveller`."""

    async def ask(self, context: str, at: datetime, question: Callable[..., bytes], *arguments: object) -> bytes: ...


class Moments:
    def __init__(self, auth: Authenticator, traveller: Traveller) -> None:
        self._auth = auth
        self._traveller = traveller

    def add_routes(self, app: web.Application) -> None:
        for context in QUESTIONS:
            add_route(app, "GET", f"/api/moments/{context}", self.get)

    async def get(self, request: web.Request) -> web.Response:
        demand(self._auth.authenticate(request.headers), "moments", Verb.READ)
        context = request.path.rpartition("/")[2]
        at = _moment(request.query.get("as_of", ""))
        try:
            body = await self._traveller.ask(context, at, QUESTIONS[context])
        except MomentNotYet as error:
            raise invalid("as_of lies in the future", field="as_of", value=request.query["as_of"][:64]) from error
        except TooManyTravellers as error:
            raise _later("Two moments are being looked at already") from error
        except MomentTooFar as error:
            raise _later(str(error)) from error
        return web.Response(body=body, content_type="application/json", headers={"Cache-Control": FOR_EVER})


def _moment(text: str) -> datetime:
    try:
        at = msgspec.convert(text, datetime)  # strictly: a number is no time
    except msgspec.ValidationError:
        at = None
    if at is None or at.tzinfo is None:
        message = "as_of must be a time with its zone, as in 2026-11-16T09:00:00Z"
        raise invalid(message, field="as_of", value=text[:64])
    return at


def _later(message: str) -> ApiError:
    error = unavailable(message)
    error.headers["Retry-After"] = "1"
    return error
