"""Each test here runs twice: against a real nats-server, and against the simulated one in virtual time."""

from __future__ import annotations

import asyncio
import base64
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from datetime import datetime
from typing import Any

import msgspec
import pytest
from nats.errors import NoRespondersError
from uuid_utils import uuid4

from drover.bus.connection import connected
from drover.embedded.nats import nats_server
from drover.testing.faults import faulty_line
from drover.testing.simulated_nats.server import SimulatedNats
from drover.testing.simulated_network import SimulatedLoop
from drover.testing.waiting import eventually

REQUEST_S = 5.0


def pytest_asyncio_loop_factories():
    return {"real": asyncio.new_event_loop, "simulated": SimulatedLoop}


def is_simulated():
    return isinstance(asyncio.get_running_loop(), SimulatedLoop)


@pytest.fixture
async def server(request):
    """A server for tests that leave it running."""
    if is_simulated():
        async with SimulatedNats(asyncio.get_running_loop()).running() as simulated:
            yield simulated
    else:
        yield request.getfixturevalue("nats")


@pytest.fixture
async def own_server(tmp_path):
    """A server for tests that stop or restart it."""
    async with SimulatedNats(asyncio.get_running_loop()).running() if is_simulated() else nats_server(tmp_path) as own:
        yield own


@asynccontextmanager
async def line_to(server):
    """A line to the server that a test can cut, hold or slow, and a client at its end."""
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(faulty_line("127.0.0.1", server.port))
        url = server.url.replace(str(server.port), str(line.port))
        yield line, await stack.enter_async_context(connected(url, "behind the line"))


async def restarted(server, client):
    before = client.stats["reconnects"]
    await server.restart()
    await eventually(lambda: client.is_connected and client.stats["reconnects"] > before)


async def settled(client):
    """Wait until the server has handled all that a client sent. `flush` of nats-py does not: its ping overtakes what
    waits to be sent."""
    with suppress(NoRespondersError):
        await client.request("nobody.hears.this", b"", timeout=REQUEST_S)


class Stored(msgspec.Struct):
    subject: str
    seq: int
    time: datetime
    data: str = ""
    hdrs: str = ""

    @property
    def text(self):
        return base64.b64decode(self.data).decode()

    @property
    def headers(self):
        lines = base64.b64decode(self.hdrs).decode().split("\r\n")[1:]
        return dict(line.split(": ") for line in lines if line)


class Failed(Exception):
    """The server answered with an error."""

    def __init__(self, error):
        super().__init__(error["description"])
        self.code, self.text = error["err_code"], error["description"]


@contextmanager
def refused(code, text):
    """Expect that the server refuses with exactly this code and text."""
    with pytest.raises(Failed) as caught:
        yield
    assert (caught.value.code, caught.value.text) == (code, text)


class Stream:
    """A stream of a test's own, asked in the raw form of the API."""

    def __init__(self, client, name):
        self.client = client
        self.name = name

    def subject(self, part):
        return f"{self.name}.{part}"

    async def request(self, subject, body: Any = b"", headers=None):
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        reply = await self.client.request(subject, data, timeout=REQUEST_S, headers=headers)
        answer = msgspec.json.decode(reply.data)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    async def api(self, verb, body: Any = b""):
        return await self.request(f"$JS.API.{verb}.{self.name}", body)

    def config(self, **options):
        return {"name": self.name, "subjects": [f"{self.name}.*"], "discard": "new", "storage": "file", **options}

    async def create(self, **options):
        return await self.api("STREAM.CREATE", self.config(**options))

    async def update(self, **options):
        return await self.api("STREAM.UPDATE", self.config(**options))

    async def put(self, part, text="", *, after=None, **headers):
        """Publish, expecting that the last message of this subject is `after`."""
        sent = {name.replace("_", "-"): str(value) for name, value in headers.items()}
        if after is not None:
            sent["Nats-Expected-Last-Subject-Sequence"] = str(after)
        return (await self.request(self.subject(part), text.encode(), sent or None))["seq"]

    async def get(self, **question):
        return msgspec.convert((await self.api("STREAM.MSG.GET", question))["message"], Stored)

    async def last(self, part):
        return await self.get(last_by_subj=self.subject(part))

    async def purge(self, part=None, **bounds):
        which = {"filter": self.subject(part)} if part else {}
        return (await self.api("STREAM.PURGE", {**which, **bounds}))["purged"]

    async def state(self):
        return (await self.api("STREAM.INFO"))["state"]

    async def bounds(self):
        state = await self.state()
        return state["first_seq"], state["last_seq"], state["messages"]


@asynccontextmanager
async def stream_on(server, **options):
    async with connected(server.url, "contract") as client:
        stream = Stream(client, f"T{uuid4().hex[:12]}")
        await stream.create(**options)
        yield stream


@pytest.fixture
async def client(server):
    async with connected(server.url, "contract") as connection:
        yield connection


@pytest.fixture
async def stream(client):
    stream = Stream(client, f"T{uuid4().hex[:12]}")
    await stream.create()
    return stream


class Inbox:
    """Collects the messages of a subscription."""

    def __init__(self, client):
        self.subject = client.new_inbox()
        self.messages = []

    async def on_message(self, message):
        self.messages.append(message)

    async def has(self, count):
        await eventually(lambda: len(self.messages) >= count)
        return self.messages


@pytest.fixture
async def inbox(client):
    inbox = Inbox(client)
    await client.subscribe(inbox.subject, cb=inbox.on_message)
    return inbox
