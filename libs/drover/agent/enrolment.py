"""Enrols phones with the one-time code of their PC: sends the code, and gets a key for each phone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from drover.agent.backoff import AgentBackoff
from drover.agent.clock import Clock
from drover.agent.protocol import Answer
from drover.domain.errors import DroverError

TRIES_MAX: Final = 5
SAID_CHARS_MAX: Final = 300

log = logging.getLogger(__name__)


class NotEnrolled(DroverError):
    """The platform gave no keys."""

    def __init__(self, what: str, answer: Answer, said: bytes) -> None:
        how = "got no answer" if answer.status is None else f"failed with {answer.status}"
        super().__init__(f"{what} {how}: {said.decode(errors='replace')[:SAID_CHARS_MAX] or 'is the address right?'}")
        self.what = what
        self.answer = answer


class Enrolled(msgspec.Struct, frozen=True):
    """A phone with its key, as the platform answers and as agents store it."""

    serial_number: str
    device_id: str
    key: str


class _Enrolled(msgspec.Struct):
    devices: list[Enrolled]


class Caller(Protocol):
    """The method of `drover.agent.client.PhoneClient` that is called here."""

    async def post(self, path: str, body: Mapping[str, Any], *, token: str | None = None) -> tuple[Answer, bytes]: ...


async def enrol(
    client: Caller,
    clock: Clock,
    *,
    code: str,
    nonce: str,
    devices: Sequence[Mapping[str, Any]],
    url: str | None = None,
) -> list[Enrolled]:
    """Get a key for each phone. `nonce`: a random text, stored before the first try. With the same code and nonce, the
    platform answers again, so that a lost answer costs nothing. `url`: for messages."""
    body = {"code": code, "nonce": nonce, "devices": devices}
    what = "Enrolment" if url is None else f"Enrolment at {url}"
    return msgspec.json.decode(await insist(client, clock, what, "/api/enrol", body), type=_Enrolled).devices


async def insist(
    client: Caller, clock: Clock, what: str, path: str, body: Mapping[str, Any], *, token: str | None = None
) -> bytes:
    """Send a request until it is answered, at most `TRIES_MAX` times. A refusal is not repeated."""
    backoff = AgentBackoff()
    for tries in range(1, TRIES_MAX + 1):
        answer, said = await client.post(path, body, token=token)
        if answer.ok:
            return said
        if 400 <= (answer.status or 0) < 429 or tries == TRIES_MAX:
            break  # it would be refused again
        pause_s = backoff.pause_after(answer, clock.now())
        log.warning("%s was not answered (%s); trying again in %g s", what, answer.status or "no connection", pause_s)
        await asyncio.sleep(clock.real_s(pause_s))
    raise NotEnrolled(what, answer, said)
