"""The leader's door: messages of commands in, one message of outcomes out. What decides them is handed in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.messages import Outcome, Rejected, Reply, Submission
from drover.domain.errors import Code

REPLY_BYTES_MAX: Final = 900 * 1024
"""Below the default max_payload of a NATS server (1 MiB)."""

DRAIN_S: Final = 2.0

ASK_AGAIN: Final = Rejected(Code.NOT_LEADER, "There was no room for this answer; ask again")

log = structlog.get_logger("drover.bus")
_encode = msgspec.json.Encoder().encode

Done = Callable[[list[Outcome]], None]
Handle = Callable[[list[Submission[Any] | Rejected], Done], None]
"""Takes the submissions of a message (what could not be read comes as its rejection already) and calls `Done` once."""


@asynccontextmanager
async def answering(client: Client, subject: str, commands: Any, epoch: int, handle: Handle) -> AsyncIterator[None]:
    """Answer commands on `subject` for the length of a term. No queue group: there is one leader."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(list[Submission[commands]])
    sending: set[asyncio.Task[None]] = set()

    async def on_message(message: Msg) -> None:
        try:
            submissions = decoder.decode(message.data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            submissions = _one_by_one(message.data, commands)

        def done(outcomes: list[Outcome]) -> None:
            # Called from the writer's loop: the reply is sent by a task, so that one slow socket holds up nobody.
            task = asyncio.get_running_loop().create_task(_reply(message, epoch, outcomes))
            sending.add(task)
            task.add_done_callback(sending.discard)

        if submissions:
            handle(submissions, done)

    # The intake is the bound that counts; what nats-py buffers before it is bounded by its own limits.
    subscription = await client.subscribe(subject, cb=on_message)
    try:
        yield
    finally:
        # What has arrived is still told that this term is over: its callers then ask the next leader at once.
        with suppress(NatsError, OSError, TimeoutError):
            await asyncio.wait_for(subscription.drain(), DRAIN_S)  # type: ignore[no-untyped-call]
        if sending:
            await asyncio.gather(*sending, return_exceptions=True)


async def _reply(message: Msg, epoch: int, outcomes: list[Outcome]) -> None:
    body = _encode(Reply(epoch, outcomes))
    if len(body) > REPLY_BYTES_MAX:
        body = _encode(Reply(epoch, _fitting(outcomes)))
    try:
        await message.respond(body)
    except (NatsError, OSError) as error:
        # The caller asks again with the same id.
        log.info("reply_lost", error=repr(error))


def _fitting(outcomes: list[Outcome]) -> list[Outcome]:
    """As many as one reply holds. The others are asked for again, fewer at a time; one too large alone is refused."""
    fitting: list[Outcome] = []
    room = REPLY_BYTES_MAX
    for outcome in outcomes:
        size = len(_encode(outcome)) + 1
        if size > REPLY_BYTES_MAX:
            message = f"It was done, but its result has {size} bytes, too many for a reply; read it instead"
            fitting.append(Rejected(Code.TOO_LARGE, message, None, outcome.position))
        elif size > room:
            fitting.append(ASK_AGAIN)
        else:
            room -= size
            fitting.append(outcome)
    return fitting


def _one_by_one(body: bytes, commands: Any) -> list[Submission[Any] | Rejected]:
    """A message with something unreadable in it: refuse that, and let the rest through."""
    try:
        items = msgspec.json.decode(body, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        log.error("message_unreadable", error=str(error))
        return []
    read: list[Submission[Any] | Rejected] = []
    for item in items:
        try:
            read.append(msgspec.json.decode(item, type=Submission[commands]))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            read.append(Rejected(Code.VALIDATION_ERROR, f"This command cannot be read: {error}"))
    return read
