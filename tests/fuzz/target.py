"""A platform to be attacked: who calls it, what is in it, and whether it still is as it should be."""

from __future__ import annotations

import asyncio
import re
import secrets
from typing import Any, Final, NamedTuple

import aiohttp
import psutil

from drover.readmodel.models import RELATIONS
from drover.testing.waiting import eventually
from tests.e2e.client import Http
from tests.e2e.process import run_to_the_end
from tests.e2e.up import Platform
from tests.fuzz.filling import PAGE, PC, USER, fill, made, picture

MANY: Final = "100000"
ENVIRON: Final = {
    # A caller that is limited gets no further than 429: nothing behind the limits would be tried.
    "DROVER_REQUESTS_PER_S": MANY,
    "DROVER_REQUESTS_BURST": MANY,
    "DROVER_DEVICE_REQUESTS_PER_S": MANY,
    "DROVER_DEVICE_REQUESTS_BURST": MANY,
    # Many sign in as the same admin, one after the other.
    "DROVER_SIGN_INS_PER_MIN": MANY,
    "DROVER_SIGN_INS_BURST": MANY,
    # A million lines would hide those that should not be there.
    "DROVER_ACCESS_LOG": "0",
}
SERIAL: Final = "FUZZED0001"
OTHER_SERIAL: Final = "FUZZED0002"
FUZZED: Final = "fuzzed"
"""The name of keys, and the beginning of addresses, that requests may change."""
PEOPLE: Final = {"operator@example.com": "operator", "viewer@example.com": "viewer"}
PASSWORD: Final = "correct horse battery"
NOBODY_S: Final = 90.0
"""How long a server may keep a connection open that its client has left, or over which nothing comes."""
FAULTS: Final = re.compile(r"Traceback|request_failed|socket_failed|Unhandled|never retrieved")
SHOWN_MAX: Final = 10
KNOWN: Final = {
    ("accounts", "id"): "accounts",
    ("sessions", "session_id"): "sessions of accounts",
    ("sessions", "id"): "sessions",
    ("alerts", "context"): "contexts of alerts",
    ("{context}", "alert_id"): "alerts",
    ("assignments", "assignment_id"): "assignments",
    ("cleanup-runs", "id"): "cleanup_runs",
    ("devices", "id"): "devices",
    ("enrolments", "id"): "enrolments",
    ("events", "context"): "contexts of events",
    ("{context}", "seq"): "commits",
    ("{seq}", "line"): "lines",
    ("evidence", "id"): "devices",
    ("evidence", "day"): "days of pictures",
    ("{day}", "device_id"): "devices of pictures",
    ("{device_id}", "file"): "pictures",
    ("export", "relation"): "relations",
    ("jobs", "id"): "jobs",
    ("keys", "id"): "api_keys",
    ("reminders", "user_id"): "users of reminders",
    ("{user_id}", "page_id"): "reminders",
    ("renders", "id"): "render_queue",
    ("tests", "id"): "saju_tests",
    ("users", "id"): "users",
}
"""By the part of a path before an id, and its name: the list that has such ids. Ids of one path that belong together
are at the same place in their lists."""
RELATIONS_WITH_IDS: Final = ("cleanup_runs", "devices", "jobs", "render_queue", "saju_tests", "users")


class Caller(NamedTuple):
    """Somebody who sends requests, and the headers by which they are known."""

    name: str
    headers: dict[str, str]


class Target:
    """A running `drover up` with one of everything in it, and callers of every kind."""

    def __init__(self, platform: Platform) -> None:
        self.platform: Final = platform
        self.url: Final = platform.url
        self._keys: list[Caller] = []
        self._tokens: dict[str, str] = {}
        self._looks = 0
        self.known: dict[str, list[str]] = {}
        """Ids that are there, by the name of their list."""

    async def prepare(self) -> None:
        await self.platform.ready()
        async with self.platform.calling() as http:
            admin = await self._admin()
            phones = await fill(http, admin, (SERIAL, OTHER_SERIAL))
            for email, role in PEOPLE.items():
                await made(http, "/api/accounts", {"email": email, "password": PASSWORD, "role": role}, headers=admin)
            for name, device_id in zip(("device", "another device"), phones, strict=True):
                key = {"name": name, "role": "device", "device_id": device_id}
                issued = (await made(http, "/api/keys", key, headers=admin)).json
                self._keys.append(Caller(name, {"apikey": issued["key"]}))
            issued = (await made(http, "/api/keys", {"name": "revoked", "role": "service_role"}, headers=admin)).json
            assert (await http.call("DELETE", f"/api/keys/{issued['id']}", headers=admin)).status in (200, 204)
            self._keys.append(Caller("revoked", {"apikey": issued["key"]}))
            await made(http, "/api/keys", {"name": FUZZED, "role": "anon"}, headers=admin)
        await self.look_around()

    async def sign_in(self, email: str, password: str) -> str:
        """An access token. Some requests end its session; then the person signs in again."""
        keys = self.platform.credentials
        async with aiohttp.ClientSession(self.url, headers={"apikey": keys["anon_key"]}) as session:
            held = {"Authorization": f"Bearer {self._tokens.get(email, '')}"}
            async with session.get("/auth/v1/user", headers=held) as answer:
                if answer.status == 200:
                    return self._tokens[email]
            body = {"email": email, "password": password}
            async with session.post("/auth/v1/token?grant_type=password", json=body) as answer:
                assert answer.status == 200, await answer.text()
                self._tokens[email] = (await answer.json())["access_token"]
        return self._tokens[email]

    async def _admin(self) -> dict[str, str]:
        keys = self.platform.credentials
        token = await self.sign_in(keys["admin_email"], keys["admin_password"])
        return {"Authorization": f"Bearer {token}", "Sec-Fetch-Site": "same-origin"}

    async def callers(self) -> list[Caller]:
        """The callers who may do most come most often."""
        keys = self.platform.credentials
        office = Caller("service_role", {"apikey": keys["service_key"]})
        admin = Caller("admin", await self._admin())
        people = [
            Caller(role, {"Authorization": f"Bearer {await self.sign_in(email, PASSWORD)}"})
            for email, role in PEOPLE.items()
        ]
        return [
            *(office, office, office, office, admin, admin, admin, admin),
            *people,
            *self._keys,
            Caller("cron", {"X-Cron-Secret": keys["cron_secret"]}),
            Caller("anon", {"apikey": keys["anon_key"]}),
            Caller("nobody", {}),
            Caller("stranger", {"apikey": "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.c2lnbmVk"}),
        ]

    async def look_around(self) -> None:
        """Learn ids that are there, so that requests are about something, and bring back what requests have ended. The
        callers' own accounts and keys are left alone."""
        async with self.platform.calling() as http:
            admin = await self._admin()
            for relation in RELATIONS_WITH_IDS:
                rows = (await http.get(f"/rest/v1/{relation}?limit=20")).json
                self.known[relation] = [str(row["id"]) for row in rows]
            self.known["relations"] = sorted(RELATIONS)
            await self._look_at_people(http, admin)
            await self._look_at_work(http, admin)

    async def _look_at_people(self, http: Http, admin: dict[str, str]) -> None:
        """Accounts and sessions that may be changed by anybody: new ones each time."""
        self._looks += 1
        account = {"email": f"{FUZZED}-{self._looks}@example.com", "password": PASSWORD, "role": "viewer"}
        id_ = (await made(http, "/api/accounts", account, headers=admin)).json["id"]
        await self.sign_in(account["email"], PASSWORD)
        sessions = (await http.get(f"/api/accounts/{id_}/sessions", headers=admin)).json["sessions"]
        self.known["accounts"] = [id_ for _ in sessions]
        self.known["sessions of accounts"] = [one["id"] for one in sessions]
        keys = self.platform.credentials
        other = {"email": keys["admin_email"], "password": keys["admin_password"]}
        await http.call("POST", "/auth/v1/token?grant_type=password", json=other, anon=True)
        sessions = (await http.get("/api/auth/sessions", headers=admin)).json["sessions"]
        self.known["sessions"] = [one["id"] for one in sessions if not one["current"]]
        listed = (await http.get("/api/keys", headers=admin)).json["keys"]
        self.known["api_keys"] = [one["id"] for one in listed if one["name"] == FUZZED]
        if not self.known["api_keys"]:
            await made(http, "/api/keys", {"name": FUZZED, "role": "anon"}, headers=admin)
        await made(http, "/api/enrolments", {"pc_id": PC}, headers=admin)
        listed = (await http.get("/api/enrolments", headers=admin)).json["enrolments"]
        self.known["enrolments"] = [one["id"] for one in listed]

    async def _look_at_work(self, http: Http, admin: dict[str, str]) -> None:
        rows = (await http.get("/rest/v1/job_assignments?limit=20")).json
        self.known["assignments"] = [row["id"] for row in rows]
        references = [(await picture(http, id_)).split("/")[3:] for id_ in self.known["assignments"][:2]]
        for place, name in enumerate(("days of pictures", "devices of pictures", "pictures")):
            self.known[name] = [reference[place] for reference in references]
        alerts = (await http.get("/api/alerts?open=true", headers=admin)).json["items"]
        self.known["contexts of alerts"] = [one["context"] for one in alerts]
        self.known["alerts"] = [one["id"] for one in alerts]
        events = (await http.get("/api/events?limit=20", headers=admin)).json["items"]
        self.known["contexts of events"] = [one["context"] for one in events]
        self.known["commits"] = [str(one["seq"]) for one in events]
        self.known["lines"] = [str(one["line"]) for one in events]
        reminder = {"page_id": PAGE, "user_id": USER, "title": "Fuzzed"}
        await http.call("POST", "/api/reminder/register-by-page", json=reminder)
        rows = (await http.get("/rest/v1/alarm?select=user_id,page_id&limit=20")).json
        self.known["users of reminders"] = [row["user_id"] for row in rows]
        self.known["reminders"] = [row["page_id"] for row in rows]

    def known_ids(self, path: str, parameter: str) -> list[str]:
        """Ids that are there, for a parameter of a path like `/api/devices/{id}`."""
        before = path.partition(f"/{{{parameter}}}")[0].rpartition("/")[2]
        return self.known.get(KNOWN.get((before, parameter), ""), [])

    def faults(self) -> list[str]:
        """Lines of the platform's log that should not be there: something was raised that nobody expected."""
        return [line for line in self.platform.output.splitlines() if FAULTS.search(line)][:SHOWN_MAX]

    def connections(self) -> int:
        """How many connections clients have open at its port."""
        listed = psutil.Process(self.platform.pid).net_connections("tcp")
        return sum(1 for one in listed if one.laddr.port == self.platform.port and one.status == "ESTABLISHED")

    async def still_works(self) -> None:
        """A phone is registered and comes online, a job is created; the tables are what the log says; no connection is
        left; nothing unexpected was raised."""
        async with self.platform.calling() as http:
            assert (await http.get("/readyz")).status == 200
            await _one_life_of_a_phone(http)
        await eventually(lambda: self.connections() <= 1, NOBODY_S, every_s=0.5)
        output = self.platform.data_dir.with_name("verify.log")
        code, said = await run_to_the_end("verify", "--data-dir", self.platform.data_dir, output=output)
        assert code == 0, said
        assert not self.faults(), "\n".join(self.faults())


async def _one_life_of_a_phone(http: Http) -> None:
    serial = f"AFTER{secrets.token_hex(6).upper()}"
    made = await http.register(serial, headers={"Prefer": "return=representation"})
    assert made.status == 201, made
    (row,) = made.json
    assert (await http.beat(serial)).status == 204
    job = {"title": serial, "target_url": "https://youtu.be/after", "target": {"device_ids": [row["id"]]}}
    assert (await http.call("POST", "/rest/v1/jobs", json=job)).status == 201

    async def is_online() -> bool:
        return await http.status_of(serial) == "online"

    await eventually(is_online, 30.0)
    assert [one["title"] for one in await http.rows("jobs", f"title=eq.{serial}")] == [serial]


async def settled(read: Any, *, within_s: float = 10.0) -> int:
    """Read a size that may still shrink, until it has not for a second."""
    least = read()
    deadline = asyncio.get_running_loop().time() + within_s
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(1.0)
        now = read()
        if now >= least:
            return int(least)
        least = now
    return int(least)
