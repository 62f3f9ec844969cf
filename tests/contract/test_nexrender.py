"""One suite for nexrender, run on the simulated server in both dialects and on the real `@nexrender/server`.

What passes on the real one is what the simulated one must do, too. Here a test plays the worker: it takes jobs and says
how far they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
import msgspec
import pytest

from drover.render.nexrender.client import (
    Dialect,
    NexrenderClient,
    NexrenderDown,
    NexrenderForbidden,
    NexrenderRefused,
)
from drover.render.nexrender.job import job_document
from drover.render.nexrender.states import Stage, is_missing
from drover.simulator.nexrender.apis import RealApi
from drover.simulator.nexrender.server import ApiOf, SimulatedNexrender, simulated_nexrender
from drover.testing.faults import faulty_line
from tests.contract.simplified_nexrender import SimplifiedApi
from tests.integration.nexrender.real_server import real_nexrender

SECRET = "a secret, ours"
UID = "drover-7-1-0a1b2c3d"
TEMPLATE = r"D:\templates\cyprus design.aep"


@dataclass
class Server:
    url: str
    dialect: Dialect
    simulated: SimulatedNexrender | None = None

    async def ask(self, method: str, path: str, body: Any = None, secret: str = SECRET) -> tuple[int, str]:
        """The raw answer: status and text."""
        headers = {"nexrender-secret": secret}
        data = {"data": body} if isinstance(body, str) else {"json": body} if body is not None else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{self.url}/api/v1{path}", **data) as answer,
        ):
            return answer.status, await answer.text()

    async def get(self, path: str) -> Any:
        status, text = await self.ask("GET", path)
        assert status == 200, text
        return msgspec.json.decode(text) if text else None

    async def take(self) -> str | None:
        """As a worker: the name of the next job."""
        if self.dialect is Dialect.NEXRENDER:
            return (await self.get("/jobs/pickup")).get("uid")
        job = self.simulated.jobs.pick_up()
        return None if job is None else job["uid"]

    async def say(self, name: str, **words: Any) -> int:
        """As a worker: how it goes. The status of the answer."""
        if self.dialect is Dialect.NEXRENDER:
            return (await self.ask("PUT", f"/jobs/{name}", words))[0]
        return 400 if self.simulated.jobs.update(name, words) is None else 200


@asynccontextmanager
async def simulated(tmp_path, dialect: Dialect, api_of: ApiOf) -> AsyncIterator[Server]:
    async with simulated_nexrender(tmp_path, api_of=api_of, secret=SECRET, machines=0) as server:
        yield Server(server.url, dialect, server)


@asynccontextmanager
async def simulated_real(tmp_path):
    async with simulated(tmp_path, Dialect.NEXRENDER, RealApi) as server:
        yield server


@asynccontextmanager
async def simulated_simplified(tmp_path):
    async with simulated(tmp_path, Dialect.SIMPLIFIED, SimplifiedApi) as server:
        yield server


@asynccontextmanager
async def real(tmp_path):
    async with real_nexrender(tmp_path, SECRET) as url:
        yield Server(url, Dialect.NEXRENDER)


@pytest.fixture(params=[simulated_real, simulated_simplified, real], ids=["simulated", "simplified", "real"])
async def server(request, tmp_path):
    async with request.param(tmp_path) as server:
        yield server


@pytest.fixture(params=[simulated_real, real], ids=["simulated", "real"])
async def nexrender(request, tmp_path):
    """Those with the API that nexrender really has."""
    async with request.param(tmp_path) as server:
        yield server


@pytest.fixture
async def client(server):
    async with NexrenderClient(server.url, secret=SECRET) as client:
        yield client


def document(uid=UID, **changes):
    values = {
        "uid": uid,
        "render_id": 7,
        "template": TEMPLATE,
        "composition": "_MAIN Mini Chip Count",
        "assets": [{"type": "data", "layerName": "Name 1", "property": "Source Text", "value": "PHIL IVEY"}],
        "output": f"D:/output/{uid}/job_7.mp4",
    }
    return job_document(**{**values, **changes})


async def test_somebody_is_there(client):
    await client.health()


@pytest.mark.req("RN-08")
async def test_a_job_that_nobody_submitted_is_not_there(client):
    assert await client.find(UID) is None


@pytest.mark.req("RN-08")
async def test_a_job_that_was_submitted_is_there_and_waits(client, server):
    made = await client.submit(document())
    found = await client.find(made.uid)
    assert found.uid == made.uid
    assert (made.uid == UID) is (server.dialect is Dialect.NEXRENDER), "only the real one takes our name for it"
    assert (made.state, found.state) == ("queued", "queued")
    assert (found.stage, found.progress or 0, found.error) == (Stage.RENDERING, 0, None)
    assert found.dialect is client.dialect is server.dialect


@pytest.mark.req("RN-08", "RN-09")
async def test_a_render_is_followed_to_its_end_which_comes_at_90(client, server):
    job = await client.submit(document())
    name = await server.take()
    assert name == job.uid
    seen = []
    for words in (
        {"state": "started"},
        {"state": "render:dorender", "renderProgress": 12},
        {"state": "render:dorender", "renderProgress": 57},
        {"state": "render:dorender", "renderProgress": 90},
        {"state": "render:postrender"},
        {"state": "finished"},
    ):
        assert await server.say(name, **words) == 200
        now = await client.find(job.uid)
        seen.append((now.stage.value, now.progress or 0))
    assert seen == [
        ("rendering", 0),
        ("rendering", 12),
        ("rendering", 57),
        ("rendering", 90),
        ("encoding", 90),
        ("finished", 90),
    ]


@pytest.mark.req("RN-08", "RN-12")
async def test_a_render_that_fails_says_why(client, server):
    job = await client.submit(document())
    name = await server.take()
    await server.say(name, state="error", error=f"Error: ENOENT: no such file or directory, open '{TEMPLATE}'")
    failed = await client.find(job.uid)
    assert failed.stage is Stage.ERROR
    assert is_missing(failed.error, TEMPLATE)


@pytest.mark.req("RN-08")
async def test_a_job_that_was_removed_is_not_rendered_and_can_be_removed_again(client, server):
    job = await client.submit(document())
    await client.remove(job.uid)
    assert await client.find(job.uid) is None
    assert await server.take() is None
    await client.remove(job.uid)
    await client.remove("drover-never-there")


@pytest.mark.req("RN-08")
async def test_a_render_that_goes_on_after_it_was_removed_does_not_bring_its_job_back(client, server):
    job = await client.submit(document())
    name = await server.take()
    await client.remove(job.uid)
    assert await server.say(name, state="finished") == 400
    assert await client.find(job.uid) is None


@pytest.mark.req("RN-08")
async def test_a_job_whose_submitter_died_before_it_heard_the_answer_is_found_and_not_submitted_twice(server):
    async with (
        faulty_line("127.0.0.1", int(server.url.rpartition(":")[2])) as line,
        NexrenderClient(f"http://127.0.0.1:{line.port}", secret=SECRET) as doomed,
    ):
        assert await doomed.find(UID) is None
        line.cut_from_server = lambda data: 0
        with pytest.raises(NexrenderDown):
            await doomed.submit(document())
    async with NexrenderClient(server.url, secret=SECRET) as successor:
        found = await successor.find(UID)
        assert found is not None, "it looks first, and finds"
        again = await successor.find(found.uid)
        assert again.uid == found.uid, "what it was told to ask by can be asked by"
    assert len(await server.get("/jobs")) == 1


@pytest.mark.req("RN-08")
async def test_many_jobs_are_told_apart(client, server):
    jobs = {uid: await client.submit(document(uid)) for uid in ("drover-1-1-a", "drover-1-11-a", "drover-11-1-a")}
    taken = [await server.take() for _ in jobs]
    assert taken == [job.uid for job in jobs.values()]
    await server.say(taken[1], state="render:dorender", renderProgress=33)
    async with NexrenderClient(server.url, secret=SECRET, dialect=server.dialect) as another:
        found = {uid: await another.find(uid) for uid in jobs}
    assert {uid: job.uid for uid, job in found.items()} == {uid: job.uid for uid, job in jobs.items()}
    assert [job.progress or 0 for job in found.values()] == [0, 33, 0]


@pytest.mark.req("RN-08")
async def test_with_a_wrong_secret_nothing_is_told_and_nothing_done(client, server):
    await client.submit(document())
    for secret in ("wrong", ""):
        async with NexrenderClient(server.url, secret=secret) as stranger:
            await stranger.health()
            for call in (stranger.find(UID), stranger.submit(document("drover-8-1-a")), stranger.remove(UID)):
                with pytest.raises(NexrenderForbidden) as refused:
                    await call
                assert refused.value.status == 403
                assert refused.value.text.startswith("Wrong or no authentication secret provided.")
    assert len(await server.get("/jobs")) == 1


@pytest.mark.req("RN-08")
async def test_a_document_that_is_refused_says_why_without_its_stack_trace(nexrender):
    async with NexrenderClient(nexrender.url, secret=SECRET) as client:
        bad = document()
        bad["template"]["composition"] = ""
        with pytest.raises(NexrenderRefused) as refused:
            await client.submit(bad)
    assert refused.value.status == 400
    assert refused.value.text == "AssertionError [ERR_ASSERTION]: job must have template.composition defined"
    assert await nexrender.get("/jobs") == []


async def test_the_same_uid_submitted_twice_is_there_twice_until_it_is_removed(nexrender):
    async with NexrenderClient(nexrender.url, secret=SECRET) as client:
        await client.submit(document())
        await client.submit(document())
        assert len(await nexrender.get("/jobs")) == 2
        assert [await nexrender.take() for _ in range(3)] == [UID] * 3, "it is handed out again and again"
        assert [job["state"] for job in await nexrender.get("/jobs")] == ["queued", "picked"], "the latest is marked"
        await client.remove(UID)
        assert await nexrender.get("/jobs") == []


async def test_an_error_in_several_parts_is_read_whole(nexrender):
    async with NexrenderClient(nexrender.url, secret=SECRET) as client:
        await client.submit(document())
        await nexrender.take()
        await nexrender.say(UID, state="error", error=["Error: first", "Error: second"])
        assert (await client.find(UID)).error == "Error: first\n\nError: second"


JOB = {"uid": "a", "template": {"src": "file:///x.aep", "composition": "c"}}
FILLED_IN = {"state": "x", "assets": [], "actions": {}}

ODDITIES = [
    ("GET", "/health", None, 200, "ok"),
    ("GET", "/jobs", None, 200, "[]"),
    ("GET", "/jobs/none", None, 200, ""),
    ("GET", "/jobs/none/status", None, 500, "Internal Server Error"),
    ("GET", "/jobs/pickup", None, 200, "{}"),
    ("GET", "/elsewhere", None, 204, ""),
    ("DELETE", "/jobs/none", None, 200, '{"id":"none","removed":true}'),
    ("PUT", "/jobs/none", {**JOB, **FILLED_IN}, 200, ""),
    ("POST", "/jobs", "{", 400, "Invalid JSON"),
]


async def test_the_simulated_server_has_the_oddities_of_the_real_one(nexrender):
    for method, path, body, status, text in ODDITIES:
        assert (method, path, await nexrender.ask(method, path, body)) == (method, path, (status, text))


def with_asset(**asset):
    return {**JOB, "assets": [asset]}


REFUSALS = [
    ({"template": {}}, "job must have template.src defined"),
    ({**JOB, "template": {"src": "x"}}, "job must have template.composition defined"),
    ({**JOB, "actions": None}, "The expression evaluated to a falsy value:"),
    ({**JOB, "actions": {"postrender": [{}]}}, "job action must have module defined"),
    (with_asset(), "job asset must have type defined"),
    (with_asset(type="odd", layerName="x"), "unknown job asset type: odd"),
    (with_asset(type="image", layerName="x"), "job asset[image] must have src defined"),
    (with_asset(type="image", src="x"), "job asset[image/video] must have either layerName or layerIndex defined"),
    (with_asset(type="data", value="x"), "job asset[data] must have either layerName or layerIndex defined"),
    (with_asset(type="data", layerName="x"), "job asset[data] must have value and/or expression defined"),
    (with_asset(type="data", layerName="x", value=""), "job asset[data] must have property defined"),
    (with_asset(type="script"), "job asset[script] must have src defined"),
]


async def test_the_simulated_server_refuses_what_the_real_one_refuses_in_its_words(nexrender):
    for job, complaint in REFUSALS:
        status, text = await nexrender.ask("POST", "/jobs", job)
        assert (status, text.split("\n")[0]) == (400, f"AssertionError [ERR_ASSERTION]: {complaint}")
        assert "\n    at " in text, "and its stack trace"
    status, text = await nexrender.ask("PUT", "/jobs/none", {"state": "queued"})
    assert (status, text.split("\n")[0]) == (400, "AssertionError [ERR_ASSERTION]: job must have uid")
    assert await nexrender.get("/jobs") == []


async def test_the_simulated_server_takes_what_the_real_one_takes(nexrender):
    for job in (
        JOB,
        {**JOB, "actions": []},
        with_asset(type="data", layerIndex=2, value="", property="p"),
        with_asset(type="data", layerName="x", expression="time", property="p"),
        with_asset(type="static", src="x"),
    ):
        status, text = await nexrender.ask("POST", "/jobs", job)
        assert (status, msgspec.json.decode(text)["state"]) == (200, "queued")


async def test_without_the_secret_the_same_text_is_said(nexrender):
    text = 'Wrong or no authentication secret provided. Please check the "nexrender-secret" header.'
    for secret in ("", "wrong"):
        assert await nexrender.ask("GET", "/jobs", secret=secret) == (403, text)


async def test_a_job_as_the_server_tells_of_it_has_the_same_fields(nexrender):
    await nexrender.ask("POST", "/jobs", JOB)
    (job,) = await nexrender.get("/jobs")
    assert set(job) == {
        *("uid", "type", "state", "output", "tags", "priority", "timings", "template", "assets", "actions"),
        *("creator", "createdAt", "updatedAt"),
    }
    status = await nexrender.get("/jobs/a/status")
    assert (status["uid"], status["state"], status["renderProgress"], status["error"]) == ("a", "queued", 0, None)


async def test_a_server_of_003_without_a_list_cannot_tell_a_successor_of_the_job(tmp_path):
    """What cannot be promised there: it would be rendered a second time."""
    async with simulated(tmp_path, Dialect.SIMPLIFIED, partial(SimplifiedApi, lists=False)) as server:
        async with NexrenderClient(server.url, secret=SECRET) as doomed:
            assert await doomed.find(UID) is None
            job = await doomed.submit(document())
            assert (await doomed.find(UID)).uid == job.uid, "who has submitted it knows its name"
        async with NexrenderClient(server.url, secret=SECRET) as successor:
            assert await successor.find(UID) is None
            assert (await successor.find(job.uid)).uid == job.uid
