"""An issuer on a real port, with a bus that answers by the deciders of identity and the fleet, and a clock that tests
move."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import jwt
import msgspec
import pytest
from aiohttp import ClientResponse, ClientSession, DummyCookieJar
from aiohttp.test_utils import TestClient, TestServer
from argon2 import PasswordHasher

from drover.api.identity.accounts import new_account
from drover.api.identity.app import Identity
from drover.api.identity.settings import IdentitySettings
from drover.bus.messages import Accepted, Rejected
from drover.domain.decider import Command, Rejection
from drover.domain.event import Event
from drover.domain.fleet import FLEET
from drover.domain.identity import IDENTITY
from drover.domain.identity import events as e
from drover.domain.identity.policy import AccountRole
from drover.eventlog.log import Partition
from drover.projection.newest import Newest
from drover.service.api_keys import Role
from drover.service.health import Health
from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import Ring
from drover.testing.scenario import Scenario
from drover.web.access import Access
from drover.web.application import add_handlers, create_application
from drover.web.audit import Audit
from drover.web.auth import Authenticator, Principal
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.limits import Limits
from drover.web.people import BuiltIn
from tests.settings import load
from tests.subject_keys import Leaders, local_keys
from tests.unit.web.test_audit import Log

API_SECRET = "a" * 32
SEALING_KEY = f"k1:{base64.b64encode(b'k' * 32).decode()}"
EMAIL, PASSWORD = "kim.younghee@example.com", "correct horse battery"
FETCH = {"Sec-Fetch-Site": "same-origin"}
"""What a browser says of a request that one of our own pages makes."""

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Argon2 that costs nothing: how dear it is in earnest is not what these tests are about."""


class Ended:
    """The sessions that have ended, as the log would tell it."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def __contains__(self, session_id: object) -> bool:
        return any(isinstance(event, e.SessionEnded) and event.session_id == session_id for event in self._events)


class Elsewhere:
    """Another issuer, who believes whatever a token says."""

    issuer = "https://elsewhere.example.com"

    def verify(self, token: str, now: float) -> Principal:
        claims = jwt.decode(token, options={"verify_signature": False})
        return Principal(
            Role(claims["role"]),
            f"user:{claims['sub']}",
            1e12,
            user_id=claims["sub"],
            session_id="s",
            issuer=self.issuer,
        )

    @classmethod
    def vouches_for(cls, user_id: str, role: Role) -> dict[str, str]:
        token = jwt.encode({"iss": cls.issuer, "sub": user_id, "role": role}, "x" * 32)
        return {"Authorization": f"Bearer {token}"}


class Writer:
    """A bus with deciders at its other end. `sent` and `events` are those of identity."""

    def __init__(self) -> None:
        self.scenario = Scenario(IDENTITY)
        self.fleet = Scenario(FLEET)
        self.events: list[Event] = []
        self.sent: list[tuple[Command, str]] = []
        self.down = False

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        if context == "fleet":
            return self._decided(FLEET, self.fleet, command)
        assert context == "identity"
        self.sent.append((command, by))
        if self.down:
            return Rejected("UNAVAILABLE", "Nobody answered in time")
        return self._decided(IDENTITY, self.scenario, command)

    def _decided(self, decider, scenario, command):
        command = msgspec.json.decode(msgspec.json.encode(command), type=decider.commands)
        decision = scenario.when(command).decision
        if decider is IDENTITY:
            self.events += decision.events
        result = decider.answer(decision.events) if decision.events else decision.result
        if decision.rejection is not None or isinstance(result, Rejection):
            rejection = decision.rejection or result
            return Rejected(rejection.code, rejection.message, rejection.details, len(self.events))
        wired = msgspec.json.decode(msgspec.json.encode(result))
        return Accepted(len(self.events) if decision.events else 0, wired)

    def tick(self) -> None:
        self.events += self.scenario.ticked().decision.events


class NoPool:
    async def fetch(self, *args, **options):
        raise ConnectionRefusedError


class Fresh:
    async def wait(self, context, seq, timeout_s):
        return True


class World:
    client: TestClient

    def __init__(self, **settings: str) -> None:
        environment = {
            "DROVER_NATS_URL": "nats://n",
            "DROVER_POSTGRES_URL": "postgresql://p",
            "DROVER_JWT_SECRETS": API_SECRET,
            "DROVER_IDENTITY_SECRETS": "i" * 32,
            "DROVER_SEALING_KEYS": SEALING_KEY,
            "DROVER_SIGN_INS_PER_MIN": "6000",
            "DROVER_SIGN_INS_BURST": "1000",
        }
        environment |= {f"DROVER_{name.upper()}": value for name, value in settings.items()}
        self.settings = load(environment)
        self.bus = Writer()
        self.leader = Leaders(erased=lambda: self.bus.scenario.state.erased)
        self.keys = local_keys("identity", ring=Ring.from_settings([SEALING_KEY]), leaders=self.leader)
        keys = IdentityKeys(self.settings.identity_secrets)
        self.auth = Authenticator(
            [API_SECRET], people=[BuiltIn(keys), Elsewhere()], ended=Ended(self.bus.events), clock=self.seconds
        )
        self.identity = Identity(
            self.settings,
            load(environment, IdentitySettings),
            bus=self.bus,
            pool=NoPool(),
            freshness=Freshness(Fresh(), Newest([Partition("identity"), Partition("fleet")])),
            subject_keys=self.keys,
            hasher=CHEAP,
            clock=self.seconds,
        )
        self.log = Log()
        limits, audit = Limits.of(self.settings), Audit(self.log, Callers(), clock=self.seconds)
        self.app = create_application(Health(), body_bytes_max=1024 * 1024, limits=limits, audit=audit)
        add_handlers(self.app, self.identity.handlers, Access.of(self.settings, self.auth))

    def seconds(self) -> float:
        return self.bus.scenario.now.timestamp()

    def after(self, **duration: float) -> None:
        self.bus.scenario.after(**duration)
        self.bus.tick()

    async def account(self, email: str = EMAIL, role: AccountRole = AccountRole.ADMIN, password: str = PASSWORD) -> str:
        account_id = str(uuid4())
        command = await new_account(self.identity.addresses, self.identity.passwords, account_id, email, password, role)
        assert isinstance(await self.bus.send("identity", command, by="test"), Accepted)
        self.bus.sent.clear()
        return account_id

    async def sign_in(self, email: str = EMAIL, password: str = PASSWORD, **headers: str) -> ClientResponse:
        body = {"email": email, "password": password}
        return await self.client.post("/api/auth/sign-in", json=body, headers=FETCH | headers)

    async def signed_in(self, *who: str) -> dict[str, Any]:
        answer = await self.sign_in(*who)
        assert answer.status == 200, await answer.text()
        return await answer.json()

    async def refresh(self, **headers: str) -> ClientResponse:
        return await self.client.post("/api/auth/refresh", headers=FETCH | headers)

    async def with_cookie(self, path: str, token: str, **content: Any) -> ClientResponse:
        """As another tab, or another person, that has this cookie and no other."""
        headers = FETCH | {"Cookie": f"drover_refresh={token}"}
        async with ClientSession(cookie_jar=DummyCookieJar()) as tab:
            answer = await tab.post(self.client.make_url(path), headers=headers, **content)
            await answer.read()
            return answer

    async def token(self, grant: str, **body: str) -> ClientResponse:
        return await self.client.post(f"/auth/v1/token?grant_type={grant}", json=body)

    def cookie(self) -> str | None:
        found = self.client.session.cookie_jar.filter_cookies(self.client.make_url("/api/auth/refresh"))
        return found["drover_refresh"].value if "drover_refresh" in found else None


def bearer(signed_in: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {signed_in['access_token']}"}


@pytest.fixture
async def make_world() -> AsyncIterator[Any]:
    made: list[World] = []

    async def make(**settings: str) -> World:
        world = World(**settings)
        made.append(world)
        world.client = TestClient(TestServer(world.app))
        await world.client.start_server()
        return world

    yield make
    for world in made:
        await world.client.close()


@pytest.fixture
async def world(make_world) -> World:
    """With one account."""
    world = await make_world()
    world.kim = await world.account()
    return world
