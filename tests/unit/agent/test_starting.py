"""What an agent needs before it works: phones, a function, keys. And what the library imports."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys

import pytest
from aiohttp import web

from drover.agent import (
    Agent,
    DataDirInUse,
    DataDirUnusable,
    KeyMissing,
    KeysUnreadable,
    NotEnrolled,
    NoWork,
    Work,
    WorkFailed,
)
from drover.agent.clock import Clock
from drover.testing.waiting import eventually
from drover.web.serve import serve

TIMEOUT_S = 20.0
"""An agent that is not refused works for ever."""
SERIALS = [f"SERIAL000{number}" for number in range(3)]


async def nothing(work: Work) -> None: ...


class Office:
    """Gives keys for the code `good` and for codes that begin with it; loses its first answers on request."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.lost = 0
        self.used: list[str] = []
        """The keys that heartbeats came with."""

    async def enrol(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        if len(self.asked) <= self.lost:
            return web.Response(status=503)
        if not body["code"].startswith("good"):
            return web.json_response({"message": "Ask an admin for a new code"}, status=404)
        rows = [
            {"serial_number": one["serial_number"], "device_id": f"id-{one['serial_number']}",
             "key": f"{body['code']} {one['serial_number']}"}
            for one in body["devices"]
        ]  # fmt: skip
        return web.json_response({"pc_id": "PC-01", "devices": rows})

    async def beat(self, request: web.Request) -> web.Response:
        self.used.append(request.headers["apikey"])
        return web.Response(status=204)

    async def poll(self, request: web.Request) -> web.Response:
        return web.json_response([])


@pytest.fixture
async def office():
    office, app = Office(), web.Application()
    app.router.add_post("/api/enrol", office.enrol)
    app.router.add_patch("/rest/v1/devices", office.beat)
    app.router.add_get("/rest/v1/job_assignments", office.poll)
    async with serve(app, "127.0.0.1", 0, grace_s=1) as port:
        office.url = f"http://127.0.0.1:{port}"
        yield office


@pytest.fixture
def agent_of(office, tmp_path):
    def make(**options) -> Agent:
        how = {"serials": SERIALS, "transport": "http", "data_dir": tmp_path, "clock": Clock(50), **options}
        agent = Agent(office.url, **how)
        agent.work(nothing)
        return agent

    return make


async def run_until_heard(office, agent, phones=3) -> set[str]:
    """The keys that its phones use."""
    office.used.clear()
    serving = asyncio.create_task(agent.serve())
    try:
        await eventually(lambda: serving.done() or len(set(office.used)) >= phones)
        if serving.done():
            serving.result()
        return set(office.used)
    finally:
        serving.cancel()
        await asyncio.wait([serving])


@pytest.mark.req("SE-03")
async def test_a_code_is_sent_once_and_the_keys_are_stored(office, agent_of, tmp_path):
    keys = {f"good {serial}" for serial in SERIALS}
    assert await run_until_heard(office, agent_of(code="good", group="P2-G3", capabilities=["age_verified"])) == keys
    assert await run_until_heard(office, agent_of(code="good")) == keys
    assert await run_until_heard(office, agent_of()) == keys
    (asked,) = office.asked
    assert len(asked["nonce"]) >= 16
    assert asked["devices"][0] == {
        "serial_number": SERIALS[0], "group_id": "P2-G3", "capabilities": ["age_verified"],
    }  # fmt: skip
    stored = tmp_path / "keys.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert b'"good"' not in stored.read_bytes()


@pytest.mark.req("SE-03")
async def test_a_new_code_gives_all_phones_new_keys(office, agent_of):
    await run_until_heard(office, agent_of(code="good"))
    keys = await run_until_heard(office, agent_of(code="good2", serials=[*SERIALS, "SERIAL0009"]), 4)
    assert keys == {f"good2 {serial}" for serial in [*SERIALS, "SERIAL0009"]}


@pytest.mark.req("SE-03")
async def test_an_answer_that_was_lost_is_asked_for_again_with_the_same_nonce_also_by_the_next_process(
    office, agent_of
):
    office.lost = 3
    first = asyncio.create_task(agent_of(code="good").serve())
    await eventually(lambda: len(office.asked) >= 2)
    first.cancel()
    await asyncio.wait([first])
    await run_until_heard(office, agent_of(code="good"))
    assert len({asked["nonce"] for asked in office.asked}) == 1


@pytest.mark.req("SE-03")
async def test_phones_without_keys_and_refused_codes_are_errors_that_say_what_to_do(office, agent_of, tmp_path):
    with pytest.raises(KeyMissing, match=r"SERIAL0000, SERIAL0001, SERIAL0002\. Make a code"):
        await agent_of().serve()
    with pytest.raises(NotEnrolled, match=rf"Enrolment at {office.url} failed with 404.*Ask an admin"):
        await agent_of(code="bad").serve()
    await run_until_heard(office, agent_of(code="good"))
    with pytest.raises(KeyMissing, match=r"SERIAL0009\. The code has been used"):
        await agent_of(code="good", serials=["SERIAL0009"]).serve()
    (tmp_path / "keys.json").write_bytes(b"{")
    with pytest.raises(KeysUnreadable, match="remove it and enrol the phones again"):
        await agent_of(code="good").serve()


async def test_keys_of_another_platform_are_not_used(office, agent_of, tmp_path):
    await run_until_heard(office, agent_of(code="good"))
    other = Agent("http://127.0.0.1:9", serials=SERIALS, data_dir=tmp_path)
    other.work(nothing)
    with pytest.raises(KeyMissing):
        await other.serve()


@pytest.mark.req("SE-03")
async def test_a_mistyped_address_is_named_and_does_not_cost_the_keys(office, agent_of, tmp_path, caplog):
    keys = await run_until_heard(office, agent_of(code="good"))
    other = Agent("http://127.0.0.1:9", serials=SERIALS, code="good", data_dir=tmp_path, clock=Clock(1000))
    other.work(nothing)
    with pytest.raises(NotEnrolled, match=r"Enrolment at http://127\.0\.0\.1:9 got no answer: is the address right"):
        await other.serve()
    assert "Enrolment at http://127.0.0.1:9 was not answered (no connection); trying again in 5 s" in caplog.text
    office.url += "/"
    assert await run_until_heard(office, agent_of(code="good")) == keys
    assert len(office.asked) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "drover.example"}, "no address of Drover"),
        ({"serial": None}, "give serial or serials"),
        ({"serials": ["SERIAL0001"]}, "given twice"),
        ({"serial": "short"}, "8 to 32 capital letters"),
        ({"group": "first"}, "like P1-G1"),
        ({"transport": "pigeon"}, "'socket' or 'http'"),
        ({"key": " \n"}, "key is empty: give a key of `drover key create device`"),
        ({"key": "one\ntwo"}, "characters that no key has"),
    ],
)
def test_what_the_platform_would_refuse_is_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        Agent(**{"url": "http://127.0.0.1:8080", "serial": "SERIAL0001", "key": "k", **options})


@pytest.mark.req("SE-03")
async def test_an_empty_code_is_none_and_the_line_end_of_a_key_file_is_not_sent(office, agent_of):
    with pytest.raises(KeyMissing, match="Make a code"):
        await agent_of(code="").serve()
    assert await run_until_heard(office, agent_of(key="of a file\n"), 1) == {"of a file"}
    assert office.asked == []


@pytest.mark.req("DF-27")
async def test_two_agents_do_not_share_a_folder(office, agent_of, tmp_path):
    first = asyncio.create_task(agent_of(key="k").serve())
    await eventually(lambda: office.used)
    with pytest.raises(DataDirInUse, match=rf"{tmp_path} is in use by another agent \(process {os.getpid()}\)"):
        await asyncio.wait_for(agent_of(key="k").serve(), TIMEOUT_S)
    assert not first.done()
    first.cancel()
    await asyncio.wait([first])
    assert await run_until_heard(office, agent_of(key="k"), 1) == {"k"}


@pytest.mark.req("DF-27")
async def test_the_lock_ends_with_the_process_that_has_it(office, agent_of, tmp_path):
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDING, tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"locked\n"
    with pytest.raises(DataDirInUse, match=rf"process {holder.pid}\): both would do the work"):
        await asyncio.wait_for(agent_of(key="k").serve(), TIMEOUT_S)
    holder.kill()
    await holder.wait()
    assert await run_until_heard(office, agent_of(key="k"), 1) == {"k"}


HOLDING = """
import sys
from pathlib import Path
from drover.agent.data_dir import locked

with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


async def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(agent_of, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataDirUnusable, match=r"file/inner cannot be used \(.*choose another one: Agent"):
        await agent_of(key="k", data_dir=tmp_path / "file" / "inner").serve()


async def test_an_agent_needs_a_coroutine_function():
    agent = Agent("http://127.0.0.1:8080", serial="SERIAL0001", key="k")
    with pytest.raises(NoWork, match=r"@agent\.work"):
        await agent.serve()
    with pytest.raises(TypeError, match="to_thread"):
        agent.work(lambda work: None)
    with pytest.raises(ValueError, match="no phone of this agent"):
        agent.say("SERIAL0002", battery_pct=5)
    with pytest.raises(ValueError, match="0 to 100"):
        agent.say("SERIAL0001", battery_pct=500)


@pytest.mark.parametrize("code", ["", "APP CRASH", "x" * 65])
def test_a_failure_needs_a_code_that_the_platform_accepts(code):
    with pytest.raises(ValueError, match="no error code"):
        WorkFailed(code)


ALONE = """
import sys

class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Only())
import drover.agent
print(*sorted({{name.split(".")[1] for name in sys.modules if name.startswith("drover.")}}))
"""


def test_the_library_needs_no_package_but_aiohttp_and_msgspec_and_imports_no_server():
    blocked = ["nats", "asyncpg", "structlog", "prometheus_client", "click", "rich", "uvloop", "jwt", "cryptography"]
    blocked += ["zstandard", "av", "uuid_utils", "cronsim", "argon2", "smbprotocol"]
    ended = subprocess.run(
        [sys.executable, "-c", ALONE.format(blocked=blocked)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["agent", "domain", "service"]
