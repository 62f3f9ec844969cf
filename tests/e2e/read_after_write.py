"""Tries of "what one write has acknowledged the next read shows": each writes at one door and reads at another."""

from __future__ import annotations

import asyncio
import base64
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count, cycle
from typing import Any, Final, NamedTuple

import msgspec

from tests.e2e.apart import Farm
from tests.e2e.client import Answer, Http
from tests.e2e.up import Platform

PASSWORD: Final = "a password that nobody else has"
MANY_SIGN_INS: Final = {"DROVER_SIGN_INS_BURST": "10000", "DROVER_SIGN_INS_PER_MIN": "10000"}
"""All people of these tries sign in from one address."""
BEHIND_MAX: Final = 50
"""Answers that say by themselves that they may be stale do not count. On a busy machine there may be a few."""


class Doors(NamedTuple):
    """Callers of the processes, which may all be the same one."""

    first: Http
    """A gateway. Rows of the farm are written here."""
    second: Http
    """Another gateway."""
    office: Http
    """The api."""
    admin: dict[str, str]
    """The headers of an admin, who may read accounts."""


class Read(NamedTuple):
    answer: Answer
    is_shown: bool
    took_ms: float


class Tried(NamedTuple):
    stale: Counter[str]
    """The tries whose read missed the write, by their names."""
    behind: int
    took_ms: dict[str, list[float]]
    """How long the reads took, by the names of the tries."""


Try = Callable[[Doors, str], Awaitable[Read]]


async def _timed(reading: Awaitable[Answer], is_shown: Callable[[Answer], bool]) -> Read:
    started = time.perf_counter()
    answer = await reading
    return Read(answer, is_shown(answer), (time.perf_counter() - started) * 1000)


async def _register(doors: Doors, serial: str) -> dict[str, Any]:
    made = await doors.first.register(serial, headers={"Prefer": "return=representation"})
    assert made.status == 201, made
    (row,) = made.json
    return row  # type: ignore[no-any-return]


async def device_over_rest(doors: Doors, name: str) -> Read:
    await _register(doors, name)
    path = f"/rest/v1/devices?serial_number=eq.{name}"
    return await _timed(doors.second.get(path, anon=True), lambda answer: len(answer.json) == 1)


async def device_over_api(doors: Doors, name: str) -> Read:
    await _register(doors, name)
    return await _timed(doors.office.get(f"/api/devices?serial={name}"), lambda answer: len(answer.json["items"]) == 1)


async def why_over_rest(doors: Doors, name: str) -> Read:
    device = await _register(doors, name)
    return await _timed(
        doors.second.get(f"/rest/v1/rpc/why?device_id={device['id']}"), lambda answer: answer.status == 200
    )


async def change_over_rest(doors: Doors, name: str) -> Read:
    """A change looks for the device in the gateway's memory."""
    await _register(doors, name)
    path = f"/rest/v1/devices?serial_number=eq.{name}"
    changing = doors.second.call("PATCH", path, json={"capabilities": ["camera"]})
    return await _timed(changing, lambda answer: answer.status == 204)


async def _add_account(doors: Doors, name: str) -> dict[str, Any]:
    account = {"email": f"{name.lower()}@example.com", "password": PASSWORD, "role": "viewer"}
    made = await doors.office.call("POST", "/api/accounts", json=account, headers=doors.admin)
    assert made.status == 201, made
    return made.json  # type: ignore[no-any-return]


async def account_over_rest(doors: Doors, name: str) -> Read:
    account = await _add_account(doors, name)
    path = f"/rest/v1/accounts?id=eq.{account['id']}"
    return await _timed(doors.second.get(path, headers=doors.admin), lambda answer: len(answer.json) == 1)


async def account_over_auth(doors: Doors, name: str) -> Read:
    """The new person signs in."""
    account = await _add_account(doors, name)
    return await _timed(sign_in(doors.office, account["email"], PASSWORD), lambda answer: answer.status == 200)


async def session_over_rest(doors: Doors, name: str) -> Read:
    """Written at `/auth`: a sign-in begins a session."""
    account = await _add_account(doors, name)
    signed_in = await sign_in(doors.office, account["email"], PASSWORD)
    assert signed_in.status == 200, signed_in
    session = _claims(signed_in.json["access_token"])["session_id"]
    path = f"/rest/v1/sessions?id=eq.{session}"
    return await _timed(doors.second.get(path, headers=doors.admin), lambda answer: len(answer.json) == 1)


def _claims(token: str) -> dict[str, Any]:
    body = token.split(".")[1]
    return msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))  # type: ignore[no-any-return]


async def sign_in(office: Http, email: str, password: str) -> Answer:
    body = {"email": email, "password": password}
    return await office.call("POST", "/auth/v1/token?grant_type=password", json=body)


async def _admin(office: Http, email: str, password: str) -> dict[str, str]:
    signed_in = await sign_in(office, email, password)
    assert signed_in.status == 200, signed_in
    return {"Authorization": f"Bearer {signed_in.json['access_token']}"}


@asynccontextmanager
async def doors_of(platform: Platform) -> AsyncIterator[Doors]:
    """All of them in one process."""
    keys = platform.credentials
    async with platform.calling() as http:
        yield Doors(http, http, http, await _admin(http, keys["admin_email"], keys["admin_password"]))


@asynccontextmanager
async def doors_apart(farm: Farm) -> AsyncIterator[Doors]:
    """Two gateways, the api, the writer and the projector, each in a process of its own."""
    *doors, _, _ = await asyncio.gather(
        farm.serve("gateway", name="first"),
        farm.serve("gateway", name="second"),
        farm.serve("api", **MANY_SIGN_INS),
        farm.serve("scheduler"),
        farm.serve("projector"),
    )
    email, password = await farm.add_admin()
    async with farm.calling(doors[0]) as first, farm.calling(doors[1]) as second, farm.calling(doors[2]) as office:
        yield Doors(first, second, office, await _admin(office, email, password))


FARM: Final[tuple[Try, ...]] = (device_over_rest, device_over_api, why_over_rest, change_over_rest)
PEOPLE: Final[tuple[Try, ...]] = (account_over_rest, account_over_auth, session_over_rest)


def mixed(farm: int = 4) -> list[Try]:
    """All tries, those of the farm more often: each one about people hashes a password or two, on purpose slowly."""
    return [*FARM * farm, *PEOPLE]


async def tried(doors: Doors, tries: int, *, lanes: int = 4, of: Sequence[Try] = (), prefix: str = "FRESH") -> Tried:
    """Try so often, in turns. `lanes`: callers at the same time; each writes and then reads at once. `of`: all kinds of
    tries, unless it says which. `prefix`: of the names of what is written."""
    stale, took_ms, behind, done = Counter[str](), defaultdict[str, list[float]](list), 0, 0
    numbers, turns = count(), cycle(of or mixed())

    async def lane() -> None:
        nonlocal behind, done
        while done < tries:
            one = next(turns)
            read = await one(doors, f"{prefix}{next(numbers):06}")
            if "Drover-Behind" in read.answer.headers:
                behind += 1
                continue
            assert read.answer.status in (200, 204, 400, 404), read.answer
            done += 1
            name = getattr(one, "__name__", repr(one))
            stale[name] += not read.is_shown
            took_ms[name].append(read.took_ms)

    await asyncio.gather(*(lane() for _ in range(lanes)))
    assert behind <= BEHIND_MAX, f"{behind} answers said that they may be stale"
    return Tried(+stale, behind, took_ms)
