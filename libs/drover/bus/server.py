"""Receives the commands of a partition, for its leader: decodes each message, and replies with the outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.messages import Outcome, Rejected, Reply, Submission
from drover.domain.errors import Code

REPLY_BYTES_MAX: Final = 900 * 1024
"""The maximum size of a reply in bytes. It is below the default limit of a NATS server (1 MiB). If some outcomes do not
fit, their callers must ask again."""

DRAIN_S: Final = 2.0

ASK_AGAIN: Final = Rejected(Code.NOT_LEADER, "There was no room for this answer; ask again")

log = structlog.get_logger("drover.bus")
_encode = msgspec.json.Encoder().encode

Done = Callable[[list[Outcome]], None]
Handle = Callable[[list[Submission[Any] | Rejected], Done], None]
"""Handles the submissions of a message, and calls `Done` once with all outcomes. A command that cannot be decoded is
passed on as its rejection."""


@asynccontextmanager
async def answering(client: Client, subject: str, commands: Any, epoch: int, handle: Handle) -> AsyncIterator[None]:
    """Answer the commands that arrive on `subject`, for the length of the block, which is one term. No queue group is
    needed, because there is only one leader."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(list[Submission[commands]])
    sending: set[asyncio.Task[None]] = set()

    async def on_message(message: Msg) -> None:
        try:
            submissions = decoder.decode(message.data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            submissions = _one_by_one(message.data, commands)

        def done(outcomes: list[Outcome]) -> None:
            # Called from the writer's loop. A task sends the reply, so that a slow socket does not block the writer.
            task = asyncio.get_running_loop().create_task(_reply(message, epoch, outcomes))
            sending.add(task)
            task.add_done_callback(sending.discard)

        if submissions:
            handle(submissions, done)

    # The writer's intake bounds how many commands wait; nats-py also bounds its own buffer before that.
    subscription = await client.subscribe(subject, cb=on_message)
    try:
        yield
    finally:
        # Answer what has arrived with NOT_LEADER, so that its callers turn to the next leader at once.
        try:
            async with asyncio.timeout(DRAIN_S):
                await subscription.drain()  # type: ignore[no-untyped-call]
        except (NatsError, OSError, TimeoutError):
            # There is no connection. Without this line nats-py would keep the subscription and subscribe again when it
            # reconnects. It would then answer commands before the next leader does, for ever.
            subscription._stop_processing()
            client._remove_sub(subscription._id)
        if sending:
            await asyncio.gather(*sending, return_exceptions=True)


async def _reply(message: Msg, epoch: int, outcomes: list[Outcome]) -> None:
    body = _encode(Reply(epoch, outcomes))
    if len(body) > REPLY_BYTES_MAX:
        body = _encode(Reply(epoch, _fitting(outcomes)))
    try:
        await message.respond(body)
    except (NatsError, OSError) as error:
        # The caller sends the command again with the same id.
        log.info("reply_lost", error=repr(error))


def _fitting(outcomes: list[Outcome]) -> list[Outcome]:
    """Replace the outcomes that do not fit into one reply: their callers are told to ask again. An outcome that is too
    large for any reply becomes an error."""
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
    """Decode the commands of a message one by one: reject the unreadable ones, pass on the others."""
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
