"""Sends accesses to the audit. The service `api` receives them, encrypts their addresses and records them.

They have a subject of their own in NATS: a service that was allowed to send commands of the context `identity` could
also create accounts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from drover.bus.subscription import subscribed
from drover.domain.backoff import Backoff
from drover.domain.errors import Code, DroverError
from drover.service.tasks import end

SUBJECT: Final = "audit.access"
GROUP: Final = "audit"
RECORD_S: Final = 5.0
"""How many seconds recording an access may take, with all tries. It is longer than it takes until another process leads
after a stop, and shorter than people wait for a page."""
TRY_S: Final = 2.0
AT_ONCE_MAX: Final = 1_000
"""How many accesses a process records at the same time. Further ones are refused, and their senders try again."""
_RETRY: Final = Backoff(first_s=0.05, max_s=0.5)

log = structlog.get_logger("drover.audit")


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """An access on its way to the log. Here its address is plain text; in the log it is encrypted."""

    id: str
    """The id of the access. It is also the id of the command that records it, so that a repeat is recorded only
    once."""
    by: str
    kind: str
    what: str
    address: str | None = None
    user_agent: str | None = None
    """The beginning of the header User-Agent."""
    trace: str | None = None


class AccessAnswer(msgspec.Struct):
    """Whether an access is recorded."""

    code: str | None = None
    """Why it was not recorded. None: it is on disk."""


class NotRecorded(DroverError):
    """An access could not be recorded in time. It may be recorded later."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The access could not be recorded: {reason}")
        self.reason = reason


class NatsRecorder:
    """Records accesses by sending them to any process of the service `api`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def record(self, access: Access, within_s: float = RECORD_S) -> None:
        """Return when the access is on disk. Raises NotRecorded if it is not within this time."""
        data, loop = msgspec.json.encode(access), asyncio.get_running_loop()
        deadline, tries = loop.time() + within_s, 0
        code: str | None = None
        while (left_s := deadline - loop.time()) > 0:
            tries += 1
            try:
                message = await self._client.request(SUBJECT, data, timeout=min(TRY_S, left_s))
                answer = _decode_answer(message.data)
            except (NatsError, OSError, TimeoutError, msgspec.DecodeError) as error:
                log.info("access_unanswered", error=repr(error), tries=tries)
            else:
                if (code := answer.code) is None:
                    return
                if code in (Code.VALIDATION_ERROR, Code.LOG_FULL):  # another try would not help
                    break
            await asyncio.sleep(_RETRY.pause_s(tries))
        raise NotRecorded(code or "nobody answers")


@asynccontextmanager
async def recording(client: Client, record: Callable[[Access], Awaitable[str | None]]) -> AsyncIterator[None]:
    """Receive accesses while the block runs. `record` returns once an access is on disk, or the code of its refusal."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(message: Msg) -> None:
        try:
            code = await record(_decode_access(message.data))
        except (msgspec.DecodeError, UnicodeDecodeError):
            code = Code.VALIDATION_ERROR
        except Exception:
            log.exception("access_not_recorded")
            code = Code.INTERNAL
        await _reply(message, code)

    async def on_message(message: Msg) -> None:
        if len(tasks) >= AT_ONCE_MAX:
            await _reply(message, Code.OVERLOADED)
            return
        task = asyncio.create_task(handle(message))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    try:
        async with subscribed(client, SUBJECT, on_message, queue=GROUP):
            yield
    finally:
        if tasks:
            await asyncio.wait(set(tasks), timeout=RECORD_S)
        await end(*tasks)


async def _reply(message: Msg, code: str | None) -> None:
    try:
        await message.respond(msgspec.json.encode(AccessAnswer(code)))
    except (NatsError, OSError) as error:
        log.info("access_reply_failed", error=repr(error))  # its sender tries again, with the same id


_decode_access: Final = msgspec.json.Decoder(Access).decode
_decode_answer: Final = msgspec.json.Decoder(AccessAnswer).decode
