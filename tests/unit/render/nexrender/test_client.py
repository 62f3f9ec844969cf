"""The client against a server that misbehaves. How nexrender itself behaves is in the contract's tests."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from drover.render.nexrender import client as client_module
from drover.render.nexrender.client import (
    Dialect,
    NexrenderClient,
    NexrenderConfused,
    NexrenderDown,
    NexrenderForbidden,
    NexrenderRefused,
)
from drover.render.nexrender.errors import NexrenderError
from drover.render.nexrender.job import UidUnusable, job_document, output_of, uid_tag
from drover.render.nexrender.states import Stage
from drover.web.serve import serve

UID = "drover-7-1-0a1b2c3d"


def document():
    return job_document(
        uid=UID,
        render_id=7,
        template="D:/templates/x.aep",
        composition="c",
        assets=[],
        output="D:/output/job_7.mp4",
    )


class Server:
    """Answers with what a test puts into `answers`, by method; what it was asked is kept."""

    def __init__(self) -> None:
        self.url = ""
        self.answers = {}
        self.asked = []
        self.documents = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.raw_path}")
        if request.method == "POST":
            self.documents.append(await request.json())
        answer = self.answers.get(request.path) or self.answers.get(request.method) or web.Response(status=404)
        return answer if isinstance(answer, web.StreamResponse) else await answer(request)


@pytest.fixture
async def server():
    server = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    async with serve(app, "127.0.0.1", 0, grace_s=0.1) as port:
        server.url = f"http://127.0.0.1:{port}"
        yield server


@pytest.fixture
async def client(server):
    async with NexrenderClient(server.url, secret="s") as client:
        yield client


def text(status, text="", **headers):
    return lambda request: done(web.Response(status=status, text=text, headers=headers))


def json(value):
    return lambda request: done(web.json_response(value))


async def done(response):
    return response


def observed(call, outcome):
    return REGISTRY.get_sample_value("nexrender_api_latency_ms_count", {"call": call, "outcome": outcome}) or 0


async def every_call(client, error):
    """That each of them fails like this; the last one's error."""
    for call in (client.find(UID), client.submit(document()), client.remove(UID)):
        with pytest.raises(error) as failed:
            await call
    return failed.value


@pytest.mark.req("RN-12")
async def test_where_nobody_listens_nexrender_is_down(closed_port):
    async with NexrenderClient(f"http://127.0.0.1:{closed_port}") as client:
        with pytest.raises(NexrenderDown):
            await client.health()
        assert (await every_call(client, NexrenderDown)).status is None


@pytest.mark.req("RN-12")
@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
async def test_a_server_in_trouble_is_down(server, client, status):
    server.answers = dict.fromkeys(("GET", "POST", "DELETE"), text(status, "Internal Server Error"))
    failed = await every_call(client, NexrenderDown)
    assert (failed.status, failed.reason) == (status, "Internal Server Error")


async def test_an_answer_that_does_not_come_is_not_waited_for(server):
    gone = asyncio.Event()

    async def never(request):
        await gone.wait()
        return web.Response()

    async def never_to_its_end(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        await gone.wait()
        return response

    for answer in (never, never_to_its_end):
        server.answers = {"GET": answer}
        async with NexrenderClient(server.url, total_s=0.1) as client:
            with pytest.raises(NexrenderDown, match=r"no answer within 0\.1 s"):
                await client.find(UID)
    gone.set()


async def test_a_line_that_breaks_is_down(server, client):
    async def cut(request):
        request.transport.abort()
        return web.Response()

    async def cut_in_the_middle(request):
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"uid":')
        request.transport.abort()
        return response

    for answer in (cut, cut_in_the_middle):
        server.answers = dict.fromkeys(("GET", "POST"), answer)
        await every_call(client, NexrenderDown)


async def test_a_body_without_an_end_is_not_read_to_its_end(server, client, monkeypatch):
    monkeypatch.setattr(client_module, "JOB_BYTES_MAX", 1000)
    written = 0

    async def huge(request):
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            for _ in range(1000):
                await response.write(b" " * 100_000)
                written += 100_000
        return response

    server.answers = {"GET": huge}
    with pytest.raises(NexrenderConfused, match="longer than 1000 bytes"):
        await client.find(UID)
    assert written < 100_000_000


async def test_a_redirect_is_not_followed(server, client):
    server.answers = dict.fromkeys(("GET", "POST"), text(302, Location="http://127.0.0.1:1/elsewhere"))
    await every_call(client, NexrenderConfused)
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    "body", ["<html>Welcome to nginx!</html>", "ok", "[1]", '"x"', "7", '{"name": "x"}', '{"state": 3}', "[" * 100_000]
)
async def test_an_answer_that_is_no_job_is_not_taken_for_one(server, client, body):
    server.answers = dict.fromkeys(("GET", "POST"), text(200, body))
    failed = await every_call(client, NexrenderConfused)
    assert len(str(failed)) < 400


@pytest.mark.parametrize("body", ["", "{}", " \n", "null", "[]"])
async def test_a_submission_that_is_answered_with_nothing_is_not_taken_for_granted(server, client, body):
    """The real server answers 204 to addresses that it does not know."""
    for status in (200, 204):
        server.answers = {"POST": text(status, "" if status == 204 else body)}
        with pytest.raises(NexrenderConfused):
            await client.submit(document())


@pytest.mark.req("RN-08")
@pytest.mark.parametrize(
    ("status", "body"), [(200, ""), (200, "{}"), (200, "null"), (404, "<html>"), (410, ""), (204, "")]
)
async def test_nothing_there_is_said_in_many_ways(server, client, status, body):
    server.answers = {f"/api/v1/jobs/{UID}": text(status, body), "/api/v1/jobs": text(405)}
    assert await client.find(UID) is None
    await client.remove(UID)
    assert not any(asked.startswith("DELETE") for asked in server.asked)


async def test_something_that_does_not_speak_http_confuses():
    async def mumble(reader, writer):
        await reader.readline()
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(mumble, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener, NexrenderClient(address) as client:
        with pytest.raises(NexrenderConfused):
            await client.health()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_secret_is_told_apart(server, client, status):
    server.answers = dict.fromkeys(("GET", "POST"), text(status, "Wrong or no authentication secret provided."))
    failed = await every_call(client, NexrenderForbidden)
    assert isinstance(failed, NexrenderRefused)
    assert (failed.status, failed.text) == (status, "Wrong or no authentication secret provided.")


async def test_a_refusal_is_short_and_without_its_stack_trace(server, client):
    trace = (
        "AssertionError: job must have uid\n    at validate (/srv/job.js:51:5)\n    at x (/srv/y.js:1:1)" + " z" * 9999
    )
    server.answers = {"POST": text(400, trace)}
    with pytest.raises(NexrenderRefused) as refused:
        await client.submit(document())
    assert refused.value.text.startswith("AssertionError: job must have uid")
    assert "/srv" not in refused.value.text
    assert len(refused.value.text) <= 300


async def test_the_secret_is_sent_with_every_call_and_a_wrong_path_in_the_address_is_forgiven(server):
    heard = []

    async def listen(request):
        heard.append((request.raw_path, request.headers.get("nexrender-secret"), request.headers.get("Cookie")))
        return web.Response(text="", headers={"Set-Cookie": "a=b"})

    server.answers = {"GET": listen}
    base = server.url.replace("127.0.0.1", "localhost")  # where a cookie could be kept
    for address in (base, base + "/", base + "/api/v1", base + "/api/v1/"):
        async with NexrenderClient(address, secret="s") as client:
            await client.health()
            await client.find(UID)
    assert heard == [("/api/v1/health", "s", None), (f"/api/v1/jobs/{UID}", "s", None)] * 4


@pytest.mark.parametrize("uid", ["", ".", "..", "pickup", "status"])
async def test_a_name_that_means_something_else_in_an_address_is_never_asked_for(server, client, uid):
    for call in (client.find(uid), client.remove(uid)):
        with pytest.raises(UidUnusable):
            await call
    assert server.asked == []


async def test_any_other_name_stays_within_its_place_in_the_address(server, client):
    server.answers = {"GET": text(200)}
    await client.find("../jobs?x=1#y/z %")
    assert server.asked == ["GET /api/v1/jobs/..%2Fjobs%3Fx%3D1%23y%2Fz%20%25"]


@pytest.mark.req("RN-08")
async def test_the_answers_of_003_s_document_are_understood(server, client):
    server.answers = {
        "POST": json({"id": "job_abc123", "uid": "uid_xyz789", "status": "queued", "created": "2024-01-15T10:00:00Z"}),
        "/api/v1/jobs/job_abc123": json(
            {"id": "job_abc123", "status": "rendering", "progress": 45, "updated": "2024-01-15T10:05:30Z"}
        ),
    }
    assert await client.find(UID) is None
    made = await client.submit(document())
    assert (made.uid, made.stage, made.progress, made.dialect) == ("job_abc123", Stage.RENDERING, None, "simplified")
    seen = await client.find("job_abc123")
    assert (seen.uid, seen.stage, seen.progress, seen.error) == ("job_abc123", Stage.RENDERING, 45, None)
    assert await client.find(UID) == seen, "by our name, too: the client remembers"
    assert [output_of(sent) for sent in server.documents] == ["D:/output/job_7.mp4"]
    assert server.documents[0]["actions"] == []


async def test_a_list_is_searched_for_our_uid_or_its_tag_and_the_latest_that_did_not_fail_is_taken(server):
    entries = [
        {"id": "1", "status": "rendering", "tags": f"drover,render7,{uid_tag(UID)}"},
        {"id": "2", "status": "error", "tags": ["drover", uid_tag(UID)]},
        {"id": "3", "status": "rendering", "tags": "drover,render7"},
        {"id": "4", "status": "rendering"},
        "nonsense",
        None,
    ]
    for listing in (entries, {"jobs": entries}):
        server.answers = {"/api/v1/jobs": json(listing)}
        async with NexrenderClient(server.url) as client:
            assert (await client.find(UID)).uid == "1"
    server.answers = {"/api/v1/jobs": json([{"id": "9", "uid": UID, "status": "error"}])}
    async with NexrenderClient(server.url) as client:
        assert (await client.find(UID)).uid == "9"


@pytest.mark.parametrize(
    "answer",
    [text(405), text(501), text(400, "no"), text(200, "<html>"), text(200, "{}"), json([{"uid": UID}]), text(403)],
)
async def test_a_list_that_is_of_no_use_keeps_nobody_from_rendering(server, client, answer):
    server.answers = {"/api/v1/jobs": answer}
    assert await client.find(UID) is None


async def test_while_the_list_is_away_nobody_can_say_that_a_job_is_not_there(server, client):
    server.answers = {"/api/v1/jobs": text(503)}
    with pytest.raises(NexrenderDown):
        await client.find(UID)


async def test_the_real_server_s_list_is_left_alone(server, client):
    """It holds every job with everything in it."""
    server.answers = {f"/api/v1/jobs/{UID}": text(200, "")}
    assert await client.find(UID) is None
    assert server.asked == [f"GET /api/v1/jobs/{UID}"]


def only_in(shape, answer):
    """A server that takes documents of one shape only."""

    async def post(request):
        sent = await request.json()
        fits = isinstance(sent["actions"], list) is (shape is Dialect.SIMPLIFIED)
        return web.json_response(answer) if fits else web.Response(status=400, text="actions?")

    return post


@pytest.mark.req("RN-08")
@pytest.mark.parametrize(
    ("shape", "answer"),
    [
        (Dialect.SIMPLIFIED, {"id": "j1", "status": "queued"}),
        (Dialect.NEXRENDER, {"uid": UID, "state": "queued"}),
    ],
)
async def test_a_server_that_takes_only_one_shape_of_document_gets_that_one(server, shape, answer):
    server.answers = {"POST": only_in(shape, answer)}
    for guess in (text(404), text(200, "")):  # whatever its way of not knowing a job makes us think
        server.answers["GET"] = guess
        async with NexrenderClient(server.url) as client:
            await client.find(UID)
            assert (await client.submit(document())).dialect is shape


@pytest.mark.parametrize(
    ("believed", "answer"),
    [
        (Dialect.NEXRENDER, {"id": "j1", "status": "queued"}),
        (Dialect.SIMPLIFIED, {"uid": UID, "state": "queued"}),
    ],
)
async def test_a_server_that_took_the_wrong_shape_gets_the_right_one_and_loses_the_other(server, believed, answer):
    """Otherwise it would render, and the file would land nowhere."""
    server.answers = {"POST": json(answer), "DELETE": text(405)}
    async with NexrenderClient(server.url, dialect=believed) as client:
        job = await client.submit(document())
        assert client.dialect is job.dialect is not believed
    wrong, right = server.documents
    assert isinstance(wrong["actions"], list) is (believed is Dialect.SIMPLIFIED)
    assert isinstance(right["actions"], list) is (job.dialect is Dialect.SIMPLIFIED)
    assert f"DELETE /api/v1/jobs/{job.uid}" in server.asked


async def test_a_document_that_is_refused_in_both_shapes_is_refused_with_the_first_word(server, client):
    said = iter(["first", "second"])

    async def refuse(request):
        return web.Response(status=400, text=next(said))

    server.answers = {"POST": refuse}
    with pytest.raises(NexrenderRefused) as refused:
        await client.submit(document())
    assert refused.value.text == "first"


async def test_a_server_that_cannot_remove_jobs_says_so(server, client):
    server.answers = {"GET": json({"id": "j1", "status": "rendering"}), "DELETE": text(405, "Method Not Allowed")}
    with pytest.raises(NexrenderRefused) as refused:
        await client.remove("j1")
    assert refused.value.status == 405


async def test_a_job_that_never_goes_away_is_not_removed_for_ever(server, client):
    server.answers = {"GET": json({"uid": UID, "state": "queued"}), "DELETE": json({"id": UID, "removed": True})}
    with pytest.raises(NexrenderConfused):
        await client.remove(UID)
    assert sum(asked.startswith("DELETE") for asked in server.asked) == client_module.DUPLICATES_MAX


async def test_names_are_remembered_for_so_many_jobs_only(server, client, monkeypatch):
    monkeypatch.setattr(client_module, "NAMES_MAX", 2)
    for number in range(4):
        server.answers = {"POST": json({"id": f"j{number}", "status": "queued"})}
        await client.submit({**document(), "uid": f"u{number}"})
    assert list(client._names.items()) == [("u2", "j2"), ("u3", "j3")]


@pytest.mark.req("RN-14")
async def test_every_call_is_measured_with_how_it_went(server, client):
    outcomes = {"ok": text(200), "down": text(500), "refused": text(400), "forbidden": text(403), "confused": text(302)}
    for outcome, answer in outcomes.items():
        before = observed("find", outcome)
        server.answers = {"GET": answer}
        with suppress(NexrenderError):
            await client.find(UID)
        assert observed("find", outcome) == before + 1
    client.dialect = Dialect.SIMPLIFIED
    before = {call: observed(call, "ok") for call in ("health", "submit", "remove", "list")}
    server.answers = {
        "/api/v1/health": text(200, "ok"),
        "/api/v1/jobs/j1": json({"id": "j1", "status": "queued"}),
        "POST": json({"id": "j1", "status": "queued"}),
        "DELETE": json({}),
    }
    await client.health()
    await client.submit(document())
    await client.find("unknown")
    await client.remove("j1")
    assert [observed(call, "ok") - count for call, count in before.items()] == [1, 1, 1, 1]


async def test_a_call_that_was_given_up_is_not_measured_as_an_answer(server, client):
    asked = asyncio.Event()

    async def never(request):
        asked.set()
        await asyncio.Event().wait()

    server.answers = {"GET": never}
    before = observed("find", "ok")
    call = asyncio.create_task(client.find(UID))
    await asked.wait()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert observed("find", "ok") == before


@pytest.mark.req("RN-08")
async def test_a_job_of_another_name_than_was_asked_for_is_not_taken_for_ours(server, client):
    server.answers = {"GET": json({"uid": "somebody-elses", "state": "finished"})}
    with pytest.raises(NexrenderConfused, match="somebody-elses"):
        await client.find(UID)


@pytest.mark.req("RN-17")
@pytest.mark.parametrize("answer", [200, 302, 400, 403, 500])
async def test_a_server_that_repeats_what_it_was_sent_does_not_bring_the_secret_to_light(server, answer):
    async def echo(request):
        headers = {"Location": f"/login?{request.headers['nexrender-secret']}"} if answer == 302 else {}
        return web.Response(status=answer, text=f"you sent {dict(request.headers)}", headers=headers)

    server.answers = {"GET": echo}
    async with NexrenderClient(server.url, secret="hush-hush") as client:
        with pytest.raises(NexrenderError) as told:
            await client.find(UID)
    assert "hush-hush" not in str(told.value)


@pytest.mark.req("RN-17")
async def test_nor_does_what_it_says_of_a_job(server):
    server.answers = {"GET": json({"uid": UID, "state": "error", "error": "wrong secret: hush-hush"})}
    async with NexrenderClient(server.url, secret="hush-hush") as client:
        assert "hush-hush" not in (await client.find(UID)).error
