"""Simulated users of reminders: they register pages, schedule them, change them, move to other time zones, and delete.

The pages are made up. The demo sets short pauses, so that every reminder is repeated within minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Any, Final, NamedTuple

import structlog

from drover.agent.clock import Clock
from drover.simulator.http import Client

READERS_MAX: Final = 1000
PAGES_EACH: Final = 12
"""The number of pages of each user. After these, the same pages are registered again or deleted."""
DEED_EVERY_S: Final = 3.0
DEMO_SETTINGS: Final = {"DROVER_REMINDER_BASE_S": "60", "DROVER_REMINDER_CAP_S": "900"}
"""The settings of the demo: the first pause between two reminders is a minute, the longest a quarter of an hour."""

ZONES: Final = ("Asia/Seoul", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Sydney")
TOPICS: Final = ("회의록", "독서 메모", "단어장", "Recipe", "Sermon notes", "Garden plan", "여행 계획", "Interview")

log = structlog.stdlib.get_logger(__name__)


class Kind(StrEnum):
    REGISTER = "register"
    PLAN = "plan"
    PLAN_TOGETHER = "plan_together"
    """Schedule two pages for the same minute: the platform must shift one of them."""
    PLAN_TOO_LATE = "plan_too_late"
    """Schedule an alarm for a time that has passed."""
    MOVE = "move"
    DELETE = "delete"


KINDS: Final = {
    Kind.REGISTER: 10,
    Kind.PLAN: 5,
    Kind.PLAN_TOGETHER: 2,
    Kind.PLAN_TOO_LATE: 1,
    Kind.MOVE: 1,
    Kind.DELETE: 2,
}
"""How often each kind of action occurs, as relative weights."""


class Deed(NamedTuple):
    """The next action of a user."""

    kind: Kind
    user_id: str
    page: int
    in_min: int
    """In how many minutes the alarm is due, for actions that schedule one."""
    word: str
    """The topic of a page, or the name of a time zone."""

    @property
    def page_id(self) -> str:
        return f"{self.user_id}-page{self.page:02d}"


def deeds(readers: int, seed: int) -> Iterator[Deed]:
    """Generate actions without end. The same arguments give the same actions."""
    dice = Random(f"{seed} reminders")
    while True:
        (kind,) = dice.choices(list(KINDS), list(KINDS.values()))
        word = dice.choice(ZONES if kind is Kind.MOVE else TOPICS)
        user_id = f"user_demo{dice.randint(1, readers):04d}"
        yield Deed(kind, user_id, dice.randint(1, PAGES_EACH), dice.randint(1, 20), word)


class Readers:
    """Acts as all simulated users of reminders."""

    def __init__(self, client: Client, clock: Clock, wanted: Iterator[Deed]) -> None:
        self._client = client
        self._clock = clock
        self._wanted = wanted

    async def run(self) -> None:
        """Send actions for ever. A refused request is not retried: the next one comes soon."""
        while True:
            await self.do(next(self._wanted))
            await asyncio.sleep(self._clock.real_s(DEED_EVERY_S))

    async def do(self, deed: Deed) -> None:
        if deed.kind is Kind.MOVE:
            await self._ask("PUT", f"users/{deed.user_id}/timezone", {"timezone": deed.word})
        elif deed.kind is Kind.DELETE:
            await self._ask("POST", "pages-deleted", {"user_id": deed.user_id, "page_ids": [deed.page_id]})
        else:
            await self._register(deed)
        if deed.kind in (Kind.PLAN, Kind.PLAN_TOGETHER):
            await self._plan(deed, deed.in_min)
        elif deed.kind is Kind.PLAN_TOO_LATE:
            await self._plan(deed, -deed.in_min)
        if deed.kind is Kind.PLAN_TOGETHER:
            other = deed._replace(page=deed.page % PAGES_EACH + 1)
            await self._register(other)
            await self._plan(other, deed.in_min)

    async def _register(self, deed: Deed) -> None:
        title, body = f"{deed.word} {deed.page}", f"Simulated page {deed.page} of {deed.user_id}: {deed.word}."
        texts = {"title": title, "body": body}
        await self._ask("POST", "register-by-page", {"page_id": deed.page_id, "user_id": deed.user_id, **texts})

    async def _plan(self, deed: Deed, in_min: int) -> None:
        moment = (datetime.now(UTC) + timedelta(minutes=in_min)).replace(second=0, microsecond=0)
        body = {"page_id": deed.page_id, "user_id": deed.user_id, "next_alarm_time": moment.isoformat()}
        await self._ask("POST", "schedule/v2", body, expected=422 if in_min < 0 else None)

    async def _ask(self, method: str, path: str, body: dict[str, Any], *, expected: int | None = None) -> None:
        answer, _ = await self._client.api(method, f"/api/reminder/{path}", body)
        if not answer.ok and answer.status != expected:
            log.warning("reminder_refused", path=path, status=answer.status, code=answer.code)
