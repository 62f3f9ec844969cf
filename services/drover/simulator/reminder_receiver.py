"""The receiver of the demo's reminders: takes most of them, and refuses some. It delivers nothing to anybody."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Final

import msgspec
from aiohttp import web

from drover.web.serve import serve

OWN_RECEIVER: Final = ("DROVER_REMINDER_PROVIDER", "DROVER_REMINDER_WEBHOOK", "DROVER_REMINDER_ALLOW_PRIVATE")
"""How the settings begin with which people choose where reminders go. With one of them, this receiver is not used."""
HOST: Final = "127.0.0.1"
PATH: Final = "/reminders"
GRACE_S: Final = 1.0
BODY_BYTES_MAX: Final = 64 * 1024
FAILS_EVERY: Final = 4
"""One reminder in this many is refused at first."""
REFUSALS: Final = 2
"""How often such a reminder is refused before it is taken."""
GONE_EVERY: Final = 20
"""One reminder in this many is refused for good."""
REMEMBERED_MAX: Final = 1000


class _Reminder(msgspec.Struct):
    key: str


class Receiver:
    """Decides about each reminder by the order in which they come."""

    def __init__(self) -> None:
        self.taken = 0
        self._known: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """For each key: the number of its reminder, and how often it came."""
        self._number = 0

    def status_for(self, key: str) -> int:
        """Return the HTTP status of the answer to this reminder."""
        if key not in self._known:
            self._number += 1
        number, times = self._known.pop(key, (self._number, 0))
        self._known[key] = number, times + 1
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)
        if number % GONE_EVERY == 0:
            return 410
        if number % FAILS_EVERY == 2 and times < REFUSALS:
            return 503
        self.taken += 1
        return 200

    async def handle(self, request: web.Request) -> web.Response:
        try:
            reminder = msgspec.json.decode(await request.read(), type=_Reminder)
        except msgspec.DecodeError:
            return web.Response(status=400, text="This is no reminder")
        status = self.status_for(reminder.key)
        if status == 200:
            return web.json_response({"id": f"simulated-{self.taken}"})
        text = "No such subscriber" if status == 410 else "The simulated receiver is overloaded"
        return web.Response(status=status, text=text)


@asynccontextmanager
async def demo_receiver() -> AsyncIterator[dict[str, str]]:
    """Run a receiver on the loopback address while the block runs, and give the settings to send reminders to it."""
    app = web.Application(client_max_size=BODY_BYTES_MAX)
    app.router.add_post(PATH, Receiver().handle)
    async with serve(app, HOST, 0, grace_s=GRACE_S) as port:
        yield {
            "DROVER_REMINDER_PROVIDER": "webhook",
            "DROVER_REMINDER_WEBHOOK_URL": f"http://{HOST}:{port}{PATH}",
            "DROVER_REMINDER_WEBHOOK_SECRETS": token_hex(32),
            "DROVER_REMINDER_ALLOW_PRIVATE": "1",
        }
