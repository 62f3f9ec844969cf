"""Answers an agent's poll for work from memory, without PostgreSQL. `poll_plan` recognizes which requests are polls.

An empty answer needs no writer either. Only the delivery of an assignment waits for the writer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from aiohttp import web
from multidict import CIMultiDictProxy

from drover.domain.fleet import FLEET
from drover.gateway.limits import DeviceLimits
from drover.gateway.offers import Offers
from drover.gateway.poll_plan import EMBEDDED, Plan, Plans
from drover.gateway.reports import Telemetry
from drover.gateway.roster import Roster
from drover.gateway.rows import Row
from drover.gateway.writes.representation import selected
from drover.service.api_keys import Role
from drover.web.answers import UnloggedResponse
from drover.web.auth import Principal
from drover.web.errors import ApiError, encode_json, unavailable
from drover.web.freshness import Freshness
from drover.web.limits import Limits
from drover.web.postgrest.ast import Query
from drover.web.postgrest.prefer import Preferences, parse_prefer
from drover.web.postgrest.respond import Media, Page, apply_range, check_profile, choose_media, respond

POLL_AFTER_HEADER: Final = "Drover-Poll-After"
POLL_AFTER: Final = ((10, "30"), (3, "10"), (0, "5"))
"""How many seconds an agent should wait before its next poll (document 000 §4.2), by the number of empty answers in a
row."""

AGENTS: Final = frozenset({Role.ANON, Role.DEVICE})
"""The roles of agents, which poll. The same query of the back office is an ordinary read."""

_NO_PREFERENCES: Final = Preferences()
_EMPTY: Final = {"Content-Type": "application/json; charset=utf-8", "Content-Range": "*/*"}


class Polling:
    """Answers those requests for `job_assignments` that are polls for work."""

    def __init__(
        self,
        roster: Roster,
        offers: Offers,
        telemetry: Telemetry,
        limits: DeviceLimits,
        requests: Limits,
        freshness: Freshness,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._roster = roster
        self._offers = offers
        self._telemetry = telemetry
        self._limits = limits
        self._requests = requests
        self._freshness = freshness
        self._clock = clock
        self._plans = Plans()
        self._empty: dict[str, int] = {}
        """The number of empty answers in a row, by device: at most one entry for each device of the fleet."""

    async def answer(self, request: web.Request, principal: Principal) -> web.Response | None:
        """Answer a poll. None: the request is not a poll. The caller has checked the permission."""
        if principal.role not in AGENTS or request.method != "GET":  # a HEAD request must not fetch work
            return None
        headers = request.headers
        try:
            poll = self._plans.read(request.rel_url.raw_query_string)
            if poll is None or ("Range" in headers and apply_range(Query(), headers).offset):
                return None
            view = _view(headers)  # first: a row that cannot be shown must not be recorded as sent
        except ApiError:  # not a valid poll: counts like any other request
            self._requests.count(principal, request)
            raise
        if not self._roster.complete:
            # Until the roster is complete, it has offers that were delivered or withdrawn long ago.
            raise unavailable("The gateway has just started and is still loading the offers")
        device_id, plan = poll
        is_known = device_id in self._roster.fleet.devices and principal.device_id in (None, device_id)
        if not is_known:
            self._requests.count(principal, request)
            return _respond(None, plan, view, POLL_AFTER[-1][1])
        # Before the check: a device that polls too often is alive, too.
        self._telemetry.beat(device_id, self._clock(), None)
        self._limits.check(device_id)
        await self._freshness.wait_named(headers, FLEET.context)
        waiting = self._offers.waiting(device_id)
        row = None if waiting is None else await self._offers.deliver(waiting, principal)
        return _respond(row, plan, view, self._poll_after(device_id, row))

    def _poll_after(self, device_id: str, row: Row | None) -> str:
        if row is not None:
            self._empty.pop(device_id, None)
            return POLL_AFTER[-1][1]
        empty = self._empty[device_id] = self._empty.get(device_id, 0) + 1
        return next(seconds for count, seconds in POLL_AFTER if empty >= count)


def _view(headers: CIMultiDictProxy[str]) -> tuple[Media, Preferences]:
    check_profile(headers, "Accept-Profile")
    return choose_media(headers), parse_prefer(headers.getall("Prefer")) if "Prefer" in headers else _NO_PREFERENCES


def _respond(row: Row | None, plan: Plan, view: tuple[Media, Preferences], poll_after: str) -> web.Response:
    media, preferences = view
    if row is None and media == "array" and preferences is _NO_PREFERENCES:
        return UnloggedResponse(body=b"[]", headers={**_EMPTY, POLL_AFTER_HEADER: poll_after})
    rows = [] if row is None else [_shown(row, plan)]
    total = len(rows) if preferences.count else None
    answer = respond(Page(encode_json(rows).decode(), len(rows), 0, total), media, preferences)
    answer.headers[POLL_AFTER_HEADER] = poll_after
    return answer


def _shown(row: Row, plan: Plan) -> Row:
    job = row.pop(EMBEDDED)
    return selected(row, plan.select, {EMBEDDED: job})
