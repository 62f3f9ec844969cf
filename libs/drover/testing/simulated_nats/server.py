"""The server: accepts clients, and passes each message to its subscribers, to the stream of its subject and to the
API."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import msgspec

from drover.testing.simulated_nats.api import PREFIX, Api
from drover.testing.simulated_nats.store import Store
from drover.testing.simulated_nats.stream import Refused, Stream
from drover.testing.simulated_nats.subjects import matches
from drover.testing.simulated_nats.wire import (
    PONG,
    Connect,
    Message,
    OperationReader,
    Ping,
    Subscribe,
    Unsubscribe,
    encode_headers,
    encode_info,
    encode_message,
)
from drover.testing.simulated_network import Listener, SimulatedLoop

PORT: Final = 4222
DOWN_S: Final = 0.2
"""How long the server is down during a restart, in seconds of virtual time."""
INFO: Final[dict[str, Any]] = {
    "server_id": "SIMULATED",
    "server_name": "simulated",
    "version": "2.15.1",
    "headers": True,
    "jetstream": True,
    "max_payload": 8 * 1024 * 1024,
}


class SimulatedNats:
    """One server. It keeps its streams when it restarts; clients reconnect by themselves."""

    def __init__(self, loop: SimulatedLoop, *, port: int = PORT, bytes_max: int | None = None, seed: int = 0) -> None:
        """`bytes_max`: the most that all streams may hold (`max_file_store`). `seed` is for choosing among the members
        of queue groups."""
        self.url = f"nats://simulated:{port}"
        self.port = port
        self.store = Store(self, loop.now, bytes_max)
        self._api = Api(self.store, loop.now)
        self._loop = loop
        self._choose = random.Random(seed).choice  # noqa: S311 - not for secrets
        self._clients: dict[_Client, None] = {}
        self._exact: dict[str, list[_Subscription]] = {}
        self._patterns: list[_Subscription] = []
        self._listening: Listener | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[SimulatedNats]:
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def start(self) -> None:
        self._listening = await self._loop.create_server(lambda: _Client(self), "simulated", self.port)

    async def stop(self) -> None:
        assert self._listening is not None
        self._listening.close()
        self.store.restart()
        for client in list(self._clients):
            client.cut()

    async def restart(self) -> None:
        await self.stop()
        await asyncio.sleep(DOWN_S)
        await self.start()

    # Clients

    def enter(self, client: _Client) -> None:
        self._clients[client] = None

    def leave(self, client: _Client) -> None:
        self._clients.pop(client, None)

    def subscribe(self, subscription: _Subscription) -> None:
        self._place(subscription.subject).append(subscription)

    def unsubscribe(self, subscription: _Subscription) -> None:
        self._place(subscription.subject).remove(subscription)

    def _place(self, subject: str) -> list[_Subscription]:
        is_pattern = "*" in subject or ">" in subject
        return self._patterns if is_pattern else self._exact.setdefault(subject, [])

    def _subscribers(self, subject: str) -> list[_Subscription]:
        return [*self._exact.get(subject, ()), *(one for one in self._patterns if matches(one.subject, subject))]

    # Messages

    def is_wanted(self, subject: str) -> bool:
        return bool(self._subscribers(subject))

    def send(self, subject: str, message: Message) -> bool:
        """Send a message to the subscribers of a subject: to all, but to one only of each queue group. Return whether
        there are any."""
        found = self._subscribers(subject)
        groups: dict[str, list[_Subscription]] = {}
        for one in found:
            if one.queue:
                groups.setdefault(one.queue, []).append(one)
            else:
                one.client.deliver(message, one.id)
        for members in groups.values():
            chosen = self._choose(members)
            chosen.client.deliver(message, chosen.id)
        return bool(found)

    def publish(self, message: Message) -> None:
        taken = self.send(message.subject, message)
        if message.subject.startswith(PREFIX):
            answer = self._api.answer(message)
            taken = taken or answer is not None
            if answer:
                self._reply(message, answer)
        elif (stream := self.store.stream_of(message.subject)) is not None:
            taken = True
            self._append(message, stream)
        if not taken and message.reply:
            headers = encode_headers({"Nats-Subject": message.subject}, "503")
            self.send(message.reply, Message(message.reply, headers=headers))

    def _append(self, message: Message, stream: Stream) -> None:
        try:
            told = self.store.append(message, stream)
        except Refused as refused:
            told = {"error": refused.error, "seq": 0}
        if told is not None:
            self._reply(message, msgspec.json.encode({"stream": stream.config["name"], **told}) if told else b"")

    def _reply(self, message: Message, body: bytes) -> None:
        # An answer is a message like others: if a stream stores its subject, it lands there.
        if message.reply:
            self.publish(Message(message.reply, body))


class _Subscription(msgspec.Struct, eq=False):
    client: _Client
    id: str
    subject: str
    queue: str


class _Client(asyncio.Protocol):
    """The server's side of one connection."""

    def __init__(self, server: SimulatedNats) -> None:
        self._server = server
        self._reader = OperationReader()
        self._subscriptions: dict[str, _Subscription] = {}
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.enter(self)
        self._transport.write(encode_info(INFO))

    def connection_lost(self, error: Exception | None) -> None:
        self._server.leave(self)
        for subscription in self._subscriptions.values():
            self._server.unsubscribe(subscription)
        self._subscriptions.clear()

    def data_received(self, data: bytes) -> None:
        for operation in self._reader.feed(data):
            match operation:
                case Message():
                    self._server.publish(operation)
                case Ping():
                    self._transport.write(PONG)
                case Subscribe(subject, queue, id_):
                    subscription = self._subscriptions[id_] = _Subscription(self, id_, subject, queue)
                    self._server.subscribe(subscription)
                case Unsubscribe(id_):
                    if (ended := self._subscriptions.pop(id_, None)) is not None:
                        self._server.unsubscribe(ended)
                case Connect():
                    pass  # every user may do everything

    def deliver(self, message: Message, subscription: str) -> None:
        self._transport.write(encode_message(message, subscription))

    def cut(self) -> None:
        self._transport.close()
